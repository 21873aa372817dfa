import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { type Machine, onMachine } from "../config/support.js"

/** An organisation that answers what it is told to. */
const organisation = (machine: Machine) =>
  Effect.gen(function* () {
    const answer = { text: "", status: 200 }
    const server = createServer((_request, response) => response.writeHead(answer.status).end(answer.text))
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    )
    machine.env.MCP_SUPERVISOR_DEFAULTS_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/defaults`
    return answer
  })

const good = '{ "mcp": { "wiki": { "url": "https://wiki.example.com" } } }'

describe("the document of an organisation", () => {
  for (const bad of ['{ "mcp": [] }', '{ "tools": { "x_*": "yes" } }', '{ "mcpServers": "none" }', "[]", "{"]) {
    onMachine(`is not replaced by one that cannot be used: ${bad}`, (machine) =>
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

  onMachine("is left alone where a newer version of this program has kept it", (machine) =>
    Effect.gen(function* () {
      const answer = yield* organisation(machine)
      answer.text = good
      const newer = JSON.stringify({ version: 2, something: "else" })
      const file = machine.write(join(machine.stateDir, "organisation.json"), newer)
      assert.isFalse(yield* ConfigFiles.refreshOrganisation(machine.host))
      assert.strictEqual(machine.read(file), newer)
    })
  )
})
