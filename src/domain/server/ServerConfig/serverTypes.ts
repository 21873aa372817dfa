/**
 * Lists the values of `type` in an entry, with the kind of server and the transport that each selects.
 */
import type { Remote } from "./model.js"

export type ServerKind = "local" | "remote"

type Selected =
  | { readonly kind: "local"; readonly transport: "stdio" }
  /** The transport `auto` falls back from streamable HTTP to SSE. */
  | { readonly kind: "remote"; readonly transport: Remote["transport"] }

/** Errors and the JSON Schema list the types in this order. */
export const serverTypes = {
  local: { kind: "local", transport: "stdio" },
  stdio: { kind: "local", transport: "stdio" },
  remote: { kind: "remote", transport: "auto" },
  http: { kind: "remote", transport: "http" },
  "streamable-http": { kind: "remote", transport: "http" },
  sse: { kind: "remote", transport: "sse" }
} as const satisfies Readonly<Record<string, Selected>>

export type ServerType = keyof typeof serverTypes

/** The types of one kind of server. */
export type ServerTypeOf<K extends ServerKind> = {
  readonly [T in ServerType]: (typeof serverTypes)[T]["kind"] extends K ? T : never
}[ServerType]

export const typeNames = Object.keys(serverTypes) as ReadonlyArray<ServerType>

/** The names of the types of one kind of server. */
export const typesOf = <K extends ServerKind>(kind: K) =>
  typeNames.filter((name) => serverTypes[name].kind === kind) as unknown as readonly [
    ServerTypeOf<K>,
    ...ReadonlyArray<ServerTypeOf<K>>
  ]

/** The types that are named like their transport. */
export const transportNames: ReadonlyArray<string> = typeNames.filter((name) => serverTypes[name].transport === name)

/** Returns the kind of server that a value of `type` selects, or `undefined` if the value is invalid. */
export const kindOfType = (type: unknown): ServerKind | undefined => {
  const name = typeNames.find((each) => each === type)
  return name === undefined ? undefined : serverTypes[name].kind
}
