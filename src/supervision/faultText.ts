import * as Cause from "effect/Cause"
import * as Secrets from "../domain/Secrets.js"
import * as ServerConfig from "../domain/ServerConfig.js"

/** What a fault of our own says, in one line and without the secrets of the server it happened to. */
export const faultText = (config: ServerConfig.ServerConfig | undefined, cause: Cause.Cause<unknown>): string => {
  const line = Cause.pretty(cause).split("\n")[0] ?? ""
  return config === undefined ? line : Secrets.scrub(ServerConfig.secrets(config))(line)
}
