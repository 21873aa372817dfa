/** Decodes entries of servers, and returns the config, the error message or the warnings. */
import { assert } from "@effect/vitest"
import { Either, Option } from "effect"
import { ServerConfig } from "../../../src/index.js"

export const decode = (input: unknown, defaults?: ServerConfig.Defaults) =>
  Either.getOrThrow(ServerConfig.decode("s", input, defaults))

export const config = (input: ServerConfig.Input, defaults?: ServerConfig.Defaults) =>
  Option.getOrThrow(decode(input, defaults).config)

export const complaint = (input: unknown) => Either.getOrThrow(Either.flip(ServerConfig.decode("s", input))).message

export const warnings = (input: unknown) => decode(input).warnings.map(({ message }) => message)

export const remote = (input: Omit<Extract<ServerConfig.Input, { readonly url: unknown }>, "url"> = {}) => {
  const decoded = config({ url: "https://example.com/mcp", ...input })
  assert(decoded._tag === "Remote")
  return decoded
}
