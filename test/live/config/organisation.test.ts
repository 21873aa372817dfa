import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../../src/index.js"
import { type Machine, onMachine } from "../../config/support.js"

/** An organisation that answers what it is told to. */
const organisation = (machine: Machine) =>
  Effect.gen(function* () {
    const answer = { text: "", status: 200, headers: {} as Record<string, string>, asked: [] as Array<IncomingMessage> }
    const server = createServer((request, response) => {
      answer.asked.push(request)
      // a redirect is answered once, so that its target has the document
      const { headers, status } = request.url === "/moved" ? { headers: {}, status: 200 } : answer
      response.writeHead(status, headers).end(answer.text)
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    )
    machine.env.MCP_SUPERVISOR_DEFAULTS_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/defaults`
    return answer
  })

const servers = (machine: Machine) =>
  Effect.map(ConfigFiles.load(machine.host), ({ desired }) => Object.keys(desired.servers ?? {}))

const remarks = (machine: Machine) =>
  Effect.map(ConfigFiles.load(machine.host), ({ diagnostics }) => diagnostics.map(({ message }) => message).join("\n"))

const good = '{ "mcp": { "wiki": { "url": "https://wiki.example.com" } } }'

describe("the document of an organisation", () => {
  for (const bad of ['{ "mcp": [] }', '{ "tools": { "x_*": "yes" } }', '{ "mcpServers": "none" }', "[]", "{"]) {
    onMachine(`is not replaced by an invalid one: ${bad}`, (machine) =>
      Effect.gen(function* () {
        const answer = yield* organisation(machine)
        answer.text = good
        assert.isTrue(yield* ConfigFiles.refreshOrganisation(machine.host))
        answer.text = bad
        assert.isFalse(yield* ConfigFiles.refreshOrganisation(machine.host))
        const { desired, problems } = yield* ConfigFiles.load(machine.host)
        assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["wiki"])
        assert.deepStrictEqual(problems, [])
      })
    )
  }

  onMachine("is not replaced if a newer version stored it", (machine) =>
    Effect.gen(function* () {
      const answer = yield* organisation(machine)
      answer.text = good
      const newer = JSON.stringify({ version: 2, something: "else" })
      const file = machine.write(join(machine.stateDir, "organisation.json"), newer)
      assert.isFalse(yield* ConfigFiles.refreshOrganisation(machine.host))
      assert.strictEqual(machine.read(file), newer)
    })
  )

  onMachine("follows redirects to permitted addresses only", (machine) =>
    Effect.gen(function* () {
      const answer = yield* organisation(machine)
      Object.assign(answer, { text: good, status: 302, headers: { location: "/moved" } })
      assert.isTrue(yield* ConfigFiles.refreshOrganisation(machine.host))
      assert.deepStrictEqual(yield* servers(machine), ["wiki"])
      for (const location of ["http://intranet.invalid/", "file:///etc/passwd", "http://", "/defaults"]) {
        answer.headers = { location }
        assert.isFalse(yield* ConfigFiles.refreshOrganisation(machine.host), location)
        assert.match(yield* remarks(machine), /could not be fetched .*redirect.*the copy of \d{4}-.* is used/)
      }
      assert.deepStrictEqual(yield* servers(machine), ["wiki"])
      Object.assign(answer, { status: 200, headers: {} })
      assert.isTrue(yield* ConfigFiles.refreshOrganisation(machine.host))
      assert.strictEqual(yield* remarks(machine), "")
    })
  )

  onMachine("is revalidated, and the copy stays if it is current", (machine) =>
    Effect.gen(function* () {
      const answer = yield* organisation(machine)
      Object.assign(answer, { text: good, headers: { etag: '"one"' } })
      assert.isTrue(yield* ConfigFiles.refreshOrganisation(machine.host))
      Object.assign(answer, { text: "", status: 304 })
      assert.isTrue(yield* ConfigFiles.refreshOrganisation(machine.host))
      assert.deepStrictEqual(
        answer.asked.map(({ headers }) => headers["if-none-match"]),
        [undefined, '"one"']
      )
      assert.deepStrictEqual(yield* servers(machine), ["wiki"])
    })
  )

  onMachine("is rejected if it is larger than 1 MiB", (machine) =>
    Effect.gen(function* () {
      const answer = yield* organisation(machine)
      answer.text = JSON.stringify({ note: "x".repeat(1024 * 1024) })
      assert.isFalse(yield* ConfigFiles.refreshOrganisation(machine.host))
      assert.include(yield* remarks(machine), "more than 1048576 bytes")
    })
  )
})
