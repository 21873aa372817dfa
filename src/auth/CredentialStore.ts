/**
 * Where logins are kept. Provide another `CredentialStore` to keep them in a keychain.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CredentialStore, makeMemory } from "./CredentialStore/port.js"

export { type ClientInfo, type Credential, type Discovery, type Pending, type Tokens } from "./Credential.js"
export { layerFile } from "./CredentialStore/file.js"
export { CredentialStore, type Key, type Service, StoreFailed } from "./CredentialStore/port.js"

/**
 * Keeps logins as long as the process lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<never> = Layer.effectContext(
  Effect.sync(() => Context.make(CredentialStore, makeMemory()))
)
