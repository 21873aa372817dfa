/** Runs commands with servers that fail repeatedly, and with hundreds of them. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, assert, describe, it } from "vitest"
import { places } from "../support/cli.js"

const newPlace = places()

const servers: Array<ReturnType<typeof createServer>> = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

/** A server that answers with this, and its address. */
const listening = async (answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> => {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const unavailable = (response: ServerResponse) => response.writeHead(503).end()

/** An address where nobody listens. */
const deserted = async (): Promise<string> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

describe("list", () => {
  it("prints the first outcome of each server, also if its next attempt hangs", async () => {
    const here = await newPlace()
    let begun = 0
    /** One server hangs in each attempt after its first failure; the other one fails later. */
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      if (request.url === "/slow") return void setTimeout(() => unavailable(response), 1500)
      const now = Date.now()
      begun ||= now
      if (now - begun < 400) unavailable(response)
    }
    const address = await listening(answer)
    here.configure({ early: { url: `${address}/early` }, slow: { url: `${address}/slow` } })
    const started = Date.now()
    const { code, stderr, stdout } = await here.run(["list", "--json"])
    assert.strictEqual(code, 0, stderr)
    const shown = JSON.parse(stdout) as Record<string, { readonly status: string }>
    assert.deepStrictEqual(
      Object.entries(shown).map(([name, { status }]) => [name, status]),
      [
        ["early", "failed"],
        ["slow", "failed"]
      ]
    )
    // An attempt hangs for 30 s.
    assert.isBelow(Date.now() - started, 25_000)
  }, 180_000)
})

describe("a signal", () => {
  it("is handled while hundreds of servers fail repeatedly", async () => {
    const here = await newPlace()
    const address = await deserted()
    here.configure(
      Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`s${index}`, { url: `${address}/${index}` }]))
    )
    const serving = await here.begin(["serve", "--port", "0"])
    await serving.said("http://")
    const asked = Date.now()
    serving.child.kill("SIGTERM")
    await Promise.race([serving.said("stopping"), serving.ended])
    assert.isBelow(Date.now() - asked, 15_000)
    assert.strictEqual((await serving.ended).code, 143)
  }, 180_000)
})
