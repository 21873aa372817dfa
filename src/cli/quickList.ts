/**
 * `list --json` of a running supervisor, in one request and without anything that takes time to load. Where there is any doubt
 * about who runs and for whom, there is no answer here, and the command goes the long way.
 */
import { connect } from "node:net"
import { join } from "node:path"
import { surroundings } from "../config/ConfigHost.js"
import { describe, same, type LayerSources } from "../config/layers/layerSources.js"
import { revision } from "../control/apiRevision.js"
import { assertSafeDirectory } from "../system/directoryOwnership.js"
import { readOwnSync } from "../system/ownership.js"

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
    const daemon = JSON.parse(readOwnSync(join(where.stateDir, "daemon.json"))) as Daemon
    if (daemon.version !== 1 || daemon.api !== revision || daemon.socket === undefined || daemon.isEnding)
      return undefined
    const token = readOwnSync(join(where.stateDir, "control-token")).trim()
    if (!same(describe(where, token), daemon.sources, where)) return undefined
    return await get(daemon.socket, token)
  } catch {
    return undefined
  }
}

interface Daemon {
  readonly version: number
  readonly api: number
  readonly socket?: string
  readonly isEnding?: boolean
  readonly sources: LayerSources
}

const timeoutMs = 2000

/** By hand, because Node's own client takes longer to load than all of this. An answer in HTTP 1.0 is one piece, and then the end. */
const get = (path: string, token: string): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const socket = connect({ path })
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error("no answer")))
    socket.on("error", reject)
    socket.on("data", (chunk: Buffer) => void chunks.push(chunk))
    socket.on("end", () => resolve(bodyOf(Buffer.concat(chunks))))
    socket.write(`GET /mcp HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })

const bodyOf = (answer: Buffer): string | undefined => {
  const end = answer.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const head = answer.toString("latin1", 0, end).toLowerCase()
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  const body = answer.subarray(end + 4)
  const isWhole = length === undefined ? !head.includes("transfer-encoding") : Number(length) === body.length
  return isWhole && /^http\/1\.\d 200 /.test(head) ? body.toString("utf8") : undefined
}
