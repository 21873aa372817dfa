/**
 * Prints `list --json` of a running supervisor with one request, without loading Effect.
 */
import { connect } from "node:net"
import { join } from "node:path"
import { surroundings } from "../config/ConfigHost.js"
import { describe, same, type LayerSources } from "../config/layers/layerSources.js"
import { type Announcement, announcedState } from "../daemon/announcedState.js"
import { assertSafeDirectory } from "../system/files/directoryOwnership.js"
import { readOwnSync } from "../system/files/ownership.js"

/**
 * The response of the running supervisor, or `undefined` if this program cannot be sure that one runs for these config files.
 * The full command then decides. Whether the process is alive is not checked: a dead process does not accept the connection.
 */
export const listed = async (input: Readonly<Record<string, unknown>>): Promise<string | undefined> => {
  if (input.standalone === true) return undefined
  try {
    const { config, cwd, stateDir } = input as {
      readonly config: ReadonlyArray<string>
      readonly cwd?: string
      readonly stateDir?: string
    }
    const where = surroundings({ cwd, files: config, stateDir })
    assertSafeDirectory(where.stateDir)
    const daemon = JSON.parse(readOwnSync(join(where.stateDir, "daemon.json"))) as StoredDaemon
    if (daemon.version !== 1 || announcedState(daemon) !== "Running" || daemon.socket === undefined) return undefined
    const token = readOwnSync(join(where.stateDir, "control-token")).trim()
    if (!same(describe(where, token), daemon.sources, where)) return undefined
    return await get(daemon.socket, token)
  } catch {
    return undefined
  }
}

interface StoredDaemon extends Announcement {
  readonly version: number
  readonly socket?: string
  readonly sources: LayerSources
}

const timeoutMs = 2000

/**
 * Sends the request over a plain socket, because Node's HTTP client takes longer to load than this whole module. A response in
 * HTTP 1.0 is not chunked and ends with the connection.
 */
const get = (path: string, token: string): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const socket = connect({ path })
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error("no response")))
    socket.on("error", reject)
    socket.on("data", (chunk: Buffer) => void chunks.push(chunk))
    socket.on("end", () => resolve(bodyOf(Buffer.concat(chunks))))
    socket.write(`GET /mcp HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })

/** The body of a complete response with status 200. */
const bodyOf = (response: Buffer): string | undefined => {
  const end = response.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const head = response.toString("latin1", 0, end).toLowerCase()
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  const body = response.subarray(end + 4)
  const isWhole = length === undefined ? !head.includes("transfer-encoding") : Number(length) === body.length
  return isWhole && /^http\/1\.\d 200 /.test(head) ? body.toString("utf8") : undefined
}
