import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Logger } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { controlled, local } from "./support/control.js"

const names = ["one", "two", "three"] as const

const server = { ...local, timeout: 2000, restart: { base: 1, cap: 5, maxRestarts: "none" } } as const

const transitions = ["connect", "disconnect", "restart", "enable", "disable", "crash", "fail", "remove", "add"] as const

const history = fc.sample(fc.record({ name: fc.constantFrom(...names), what: fc.constantFrom(...transitions) }), {
  seed: 7,
  numRuns: 500
})

describe("the library and the API", () => {
  it.scopedLive(
    "never disagree about a server, over 500 transitions",
    () =>
      Effect.gen(function* () {
        const open = FakeConnector.open({ tools: ["greet"] })
        const { client, fake, supervisor } = yield* controlled({
          supervisor: { servers: Object.fromEntries(names.map((name) => [name, server])) },
          scripts: Object.fromEntries(names.map((name) => [name, open]))
        })
        const { controls } = fake

        /** Moves a server, by the library and the API in turns. */
        const move = (
          index: number,
          name: string,
          what: (typeof transitions)[number]
        ): Effect.Effect<unknown, unknown> => {
          const path = { name }
          switch (what) {
            case "crash":
              return Effect.map(controls.attempts(name), (attempts) => attempts.at(-1)?.crash() ?? Effect.void).pipe(
                Effect.flatten
              )
            case "fail":
              return Effect.zipRight(
                controls.script(name, [FakeConnector.fail(new Errors.SessionLost({ server: name })), open]),
                supervisor.restart(name)
              )
            case "add":
              return index % 2 === 0
                ? supervisor.add(name, server)
                : client.mcp.add({ payload: { name, config: server } })
            default:
              return index % 2 === 0 ? supervisor[what](name) : client.mcp[what]({ path })
          }
        }

        /** Both, read until nothing happened in between. */
        const compare = Effect.gen(function* () {
          while (true) {
            const before = yield* supervisor.servers
            const [statuses, snapshots] = yield* Effect.all([client.mcp.list({}), client.servers.list({})], {
              concurrency: 2
            })
            if ((yield* supervisor.servers) !== before) continue
            assert.deepStrictEqual(snapshots, before)
            assert.deepStrictEqual(statuses, Object.fromEntries(before.map(({ name, status }) => [name, status])))
            return before
          }
        })

        const seen = new Set<string>()
        for (const [index, { name, what }] of history.entries()) {
          // a server that is there already, or not there at all, is an answer as well
          yield* Effect.exit(move(index, name, what))
          for (const { status } of yield* compare) seen.add(status.status)
        }
        assert.includeMembers([...seen], ["connected", "disabled"])
      }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))),
    120_000
  )
})
