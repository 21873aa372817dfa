import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import * as Session from "../../../src/connection/Session.js"
import { type Journal, received, type Told } from "../support/contractServers/journal.js"
import { raw } from "../support/contractServers/subjects.js"
import { eventually } from "../support/session.js"
import { meet } from "../support/contractServers/conversation.js"

const everyList = ({ listPrompts, listResources, listResourceTemplates, listTools }: Session.Session) =>
  Effect.all({ listTools, listResources, listResourceTemplates, listPrompts })

const listMethods: Readonly<Record<string, ReadonlyArray<string>>> = {
  tools: ["tools/list"],
  resources: ["resources/list", "resources/templates/list"],
  prompts: ["prompts/list"]
}

const askedFor = (told: Journal<Told>) =>
  told.entries().flatMap(({ event, method }) => (event === "received" && method?.endsWith("/list") ? [method] : []))

layer(Connector.layer(), { excludeTestServices: true })("a server that has only some of it", (it) => {
  it.scoped.each(["tools", "resources", "prompts"])("%s alone are enough, and nothing else is asked for", (only) =>
    Effect.gen(function* () {
      const { session, told } = yield* meet(raw({ capabilities: { [only]: {} }, pageSize: 100 }))
      const lists = yield* everyList(session)
      // the server reports the messages that it received in order
      yield* session.probe("5 seconds")
      yield* told.find(received("ping"))
      assert.deepStrictEqual(askedFor(told), listMethods[only])
      assert.strictEqual(lists.listTools.items.length > 0, only === "tools")
      assert.strictEqual(lists.listResources.items.length > 0, only === "resources")
      assert.strictEqual(lists.listResourceTemplates.items.length > 0, only === "resources")
      assert.strictEqual(lists.listPrompts.items.length > 0, only === "prompts")
    })
  )

  it.scoped("has nothing at all and is connected", () =>
    Effect.gen(function* () {
      const { session, told } = yield* meet(raw({ capabilities: {} }))
      yield* everyList(session)
      yield* session.probe("5 seconds")
      yield* told.find(received("ping"))
      assert.deepStrictEqual(askedFor(told), [])
    })
  )

  it.scoped.each(["tools", "resources", "prompts"])(
    "a server that does not know its own list of %s has the others",
    (missing) =>
      Effect.gen(function* () {
        const capabilities = { tools: {}, resources: {}, prompts: {} }
        const { session } = yield* meet(raw({ capabilities, unknown: listMethods[missing] }))
        const { listPrompts, listResources, listTools } = yield* everyList(session)
        const lists = { tools: listTools, resources: listResources, prompts: listPrompts }
        for (const [name, { diagnostics, items }] of Object.entries(lists)) {
          assert.strictEqual(items.length === 0, name === missing)
          assert.deepStrictEqual(
            diagnostics.map(({ code }) => code),
            name === missing ? ["list_not_there"] : []
          )
        }
      })
  )

  it.scoped("has 101 tools on pages of 50, the second of which is called nothing", () =>
    Effect.gen(function* () {
      const { session, told } = yield* meet(raw({ capabilities: { tools: {} }, moreTools: 90, pageSize: 50 }))
      const { diagnostics, items } = yield* session.listTools
      assert.strictEqual(items.length, 101)
      assert.strictEqual(new Set(items.map(({ name }) => name)).size, 101)
      assert.deepStrictEqual(diagnostics, [])
      yield* eventually(() => askedFor(told).length === 3)
    })
  )

  it.scoped("repeats itself for ever and is not followed", () =>
    Effect.gen(function* () {
      const { session } = yield* meet(raw({ capabilities: { tools: {} }, cursor: "1" }))
      const { diagnostics, items } = yield* session.listTools
      assert.strictEqual(new Set(items.map(({ name }) => name)).size, items.length)
      assert.includeMembers(
        diagnostics.map(({ code }) => code),
        ["list_cut_short"]
      )
    })
  )
})
