/** Checks how the built program fetches the organisation's defaults. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, assert, describe, it } from "vitest"
import { places } from "../support/cli.js"

const newPlace = places()
const closing: Array<() => void> = []
afterAll(() => {
  for (const close of closing) close()
})

const document = JSON.stringify({ mcp: { wiki: { url: "https://wiki.invalid/mcp", enabled: false } } })

/** A web server that counts what it is asked for. */
const organisation = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe("the organisation's defaults in the program", () => {
  it("serve fetches the document at its start and adds its servers", async () => {
    const here = await newPlace()
    const { asked, url } = await organisation((_request, response) => response.end(document))
    const env = { MCP_SUPERVISOR_DEFAULTS_URL: url }
    const served = await here.begin(["serve", "--port", "0"], { env })
    await served.said(/wiki: disabled/)
    assert.deepStrictEqual(asked, ["/.well-known/mcp-supervisor"])
    // The next command uses the copy.
    const listed = await here.run(["config", "--json"], { env })
    assert.include(listed.stdout, "wiki")
    served.child.kill("SIGTERM")
    await served.ended
  })

  it("a command without a supervisor fetches the document once, and then uses the copy", async () => {
    for (const words of [["list"], ["config"], ["test", "wiki"]]) {
      const here = await newPlace()
      const { asked, url } = await organisation((_request, response) => response.end(document))
      const env = { MCP_SUPERVISOR_DEFAULTS_URL: url }
      const first = await here.run(words, { env })
      assert.include(first.stdout + first.stderr, "wiki")
      assert.notInclude(first.stderr, "no server")
      assert.include((await here.run(["list"], { env })).stdout, "wiki")
      assert.lengthOf(asked, 1)
    }
  })

  it("a command without a supervisor reports why the document is missing, and waits at most two seconds", async () => {
    const here = await newPlace()
    const refusing = await organisation((_request, response) => response.writeHead(503).end("no"))
    const refused = await here.run(["list"], { env: { MCP_SUPERVISOR_DEFAULTS_URL: refusing.url } })
    assert.include(refused.stderr, "HTTP status 503")
    assert.include(refused.stderr, "no earlier copy")
    // This server never responds.
    const silent = await organisation(() => {})
    const waited = await here.run(["list"], { env: { MCP_SUPERVISOR_DEFAULTS_URL: silent.url } })
    assert.include(waited.stderr, "no complete answer within 2 seconds")
    const unsafe = await here.run(["list"], { env: { MCP_SUPERVISOR_DEFAULTS_URL: "http://a.example" } })
    assert.include(unsafe.stderr, "is no https address")
  })

  it("serve starts without the document, and reports the reason as a diagnostic", async () => {
    const here = await newPlace()
    // This server never responds.
    const { url } = await organisation(() => {})
    const waiting = await here.begin(["serve", "--port", "0"], { env: { MCP_SUPERVISOR_DEFAULTS_URL: url } })
    await waiting.said("http://127.0.0.1:")
    waiting.child.kill("SIGTERM")
    await waiting.ended
    const refusing = await organisation((_request, response) => response.writeHead(503).end("no"))
    const env = { MCP_SUPERVISOR_DEFAULTS_URL: `${refusing.url}/defaults` }
    const served = await here.begin(["serve", "--port", "0"], { env })
    await served.said("http://127.0.0.1:")
    const events = await here.begin(["events", "-f", "--json"], { env })
    const told = await events.said(/could not be fetched from [^"]*/)
    assert.include(told, "HTTP status 503")
    assert.include(told, "no earlier copy")
    served.child.kill("SIGTERM")
    await served.ended
    await events.ended
  })
})
