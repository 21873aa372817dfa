/**
 * Stores logins between two runs. Provide another `CredentialStore` to store them in a keychain.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CredentialStore, makeMemory } from "./tokens/credentialStorePort.js"

export {
  type ClientInfo,
  type Credential,
  type Discovery,
  type PendingLogin,
  type Tokens
} from "./tokens/Credential.js"
export { layerFile } from "./tokens/FileCredentialStore.js"
export { CredentialStore, type Key, type Service, StoreFailed } from "./tokens/credentialStorePort.js"

/**
 * Stores logins for the lifetime of the process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<never> = Layer.effectContext(
  Effect.sync(() => Context.make(CredentialStore, makeMemory()))
)
