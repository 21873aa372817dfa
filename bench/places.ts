/**
 * Starts the servers that the contenders call.
 */
import { ended, startHttp, stdioTarget, type Target } from "./processes.js"

export interface Place {
  readonly name: string
  readonly kind: "stdio" | "http"
  readonly module: string
  /** How a server over HTTP responds. */
  readonly mode: string
}

export const stdioByHand: Place = {
  name: "stdio, by hand",
  kind: "stdio",
  module: "servers/minimalStdio.mjs",
  mode: ""
}
export const jsonByHand: Place = {
  name: "HTTP with JSON, by hand",
  kind: "http",
  module: "servers/minimalHttp.mjs",
  mode: "json"
}
export const sseByHand: Place = {
  name: "HTTP with SSE, by hand",
  kind: "http",
  module: "servers/minimalHttp.mjs",
  mode: "sse"
}
export const sseOfSdk: Place = {
  name: "HTTP with SSE, SDK v1",
  kind: "http",
  module: "servers/sdkHttp.mjs",
  mode: "sse"
}

export const places: ReadonlyArray<Place> = [
  stdioByHand,
  { name: "stdio, SDK v1", kind: "stdio", module: "servers/sdkStdio.mjs", mode: "" },
  jsonByHand,
  { name: "HTTP with JSON, SDK v1", kind: "http", module: "servers/sdkHttp.mjs", mode: "json" },
  sseByHand,
  sseOfSdk
]

/** The server that all contenders share, or how each starts its own. */
export const serverAt = async ({
  kind,
  mode,
  module
}: Place): Promise<{ readonly target: Target; readonly end: () => Promise<void> }> => {
  if (kind === "stdio") return { target: stdioTarget(module), end: async () => {} }
  const { child, urls } = await startHttp(module, mode)
  return { target: { url: urls[0]! }, end: () => ended(child) }
}
