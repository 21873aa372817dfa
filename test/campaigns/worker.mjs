// A correct server on stdio that responds with the tag of a call after a delay, and counts calls and cancellations:
// node worker.mjs MARK [DIRECTORY]. It writes the tag of each executed call into a file of that directory before it responds, so the
// file is complete even if the process is killed.
import { openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"

const [, , , directory] = process.argv
const journal = directory === undefined ? undefined : openSync(join(directory, String(process.pid)), "a")

/** The cancellations of each call, by its id. */
const calls = new Map()
let strangers = 0
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })
const schema = { type: "object" }

const counts = () => {
  const cancels = [...calls.values()]
  return {
    calls: calls.size,
    cancels: cancels.reduce((sum, count) => sum + count, 0),
    notOnce: cancels.filter((count) => count !== 1).length,
    strangers
  }
}

createInterface(process.stdin).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === "notifications/cancelled") {
    if (calls.has(params.requestId)) calls.set(params.requestId, calls.get(params.requestId) + 1)
    else strangers += 1
  }
  if (id === undefined) return
  const info = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "worker", version: "1" }
  }
  if (method === "initialize") return send({ id, result: info })
  if (method === "tools/list")
    return send({ id, result: { tools: ["echo", "never", "counts"].map((name) => ({ name, inputSchema: schema })) } })
  if (method !== "tools/call") return send({ id, result: {} })
  if (params.name === "counts") return send({ id, result: text(JSON.stringify(counts())) })
  const { ms = 0, tag, twice = false } = params.arguments
  if (params.name === "never") return void calls.set(id, 0)
  if (journal !== undefined) writeSync(journal, `${tag}\n`)
  const answer = () => {
    send({ id, result: text(tag) })
    if (twice) send({ id, result: text("a second answer") })
  }
  if (ms === 0) return answer()
  setTimeout(answer, ms)
})
process.stdin.on("end", () => process.exit(0))
