import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Either, Fiber } from "effect"
import { ConfigFiles } from "../../../src/index.js"
import * as ConfigWatch from "../../../src/config/watch/ConfigWatch.js"
import { surroundings } from "../../../src/config/ConfigHost.js"
import type { ConfigUpdate } from "../../../src/domain/server/Desired.js"
import { type Machine, onMachine } from "../../config/support.js"

/** The names of the servers of an update, which must be valid. */
const namesOf = (update: ConfigUpdate): ReadonlyArray<string> => Object.keys(Either.getOrThrow(update).servers ?? {})

const json = (mcp: object, more: object = {}) => JSON.stringify({ mcp, ...more })

/** The names of the servers, or the issues, of each update that a reload applies. */
const reloading = (machine: Machine) =>
  Effect.gen(function* () {
    const { initial, reload } = yield* ConfigFiles.watching(machine.host, false)
    const namesOrIssues = (update: ConfigUpdate) =>
      Either.match(update, {
        onLeft: ({ issues }) => issues.map(({ file, found }) => `${file}: ${found}`),
        onRight: ({ servers }) => Object.keys(servers ?? {}).sort()
      })
    const again = Effect.gen(function* () {
      const applied: Array<ConfigUpdate> = []
      yield* reload((update) => Effect.sync(() => applied.push(update)))
      return applied.map(namesOrIssues)
    })
    return { first: namesOrIssues(Either.right(initial)), again }
  })

describe("a shared file while it is watched", () => {
  onMachine("is reported once when it becomes invalid, and its last valid content stays in use", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ a: { command: "x" } }))
      const project = machine.write("mcp-supervisor.json", json({ p: { command: "x" } }))
      yield* ConfigFiles.trust(machine.host)
      const { again, first } = yield* reloading(machine)
      assert.deepStrictEqual(first, ["a", "p"])
      machine.write(project, '{ "mcp": { "p": ')
      const broken = yield* again
      assert.strictEqual(broken.length, 1)
      assert.include(broken[0]?.[0], project)
      machine.write(machine.globalFile(), json({ b: { command: "x" } }))
      assert.deepStrictEqual(yield* again, [["b", "p"]])
      // a different error is reported again
      machine.write(project, '{ "mcp": [] }')
      machine.write(machine.globalFile(), json({ c: { command: "x" } }))
      const both = yield* again
      assert.deepStrictEqual(both.at(-1), ["c", "p"])
      assert.include(both[0]?.[0], "an empty array")
      machine.write(project, json({ p: { command: "x" } }))
      machine.write(machine.globalFile(), json({ d: { command: "x" } }))
      assert.deepStrictEqual(yield* again, [["d", "p"]])
    })
  )

  onMachine("does not block other changes if it is an invalid document of the organisation", (machine) =>
    Effect.gen(function* () {
      const url = (machine.env.MCP_SUPERVISOR_DEFAULTS_URL = "https://example.com/d")
      const keep = (text: string) =>
        machine.write(
          join(machine.stateDir, "organisation.json"),
          JSON.stringify({ version: 1, url, fetchedAt: 0, text })
        )
      keep(json({ wiki: { url: "https://wiki.example.com" } }))
      machine.write(machine.globalFile(), json({ a: { command: "x" } }))
      const { again } = yield* reloading(machine)
      keep('{ "mcp": [] }')
      assert.match((yield* again).flat().join(), /example\.com\/d: an empty array/)
      machine.write(machine.globalFile(), json({ b: { command: "x" } }))
      assert.deepStrictEqual(yield* again, [["b", "wiki"]])
    })
  )

  onMachine("counts as the user's own if it is also named explicitly", (machine) =>
    Effect.gen(function* () {
      const project = machine.write("mcp-supervisor.json", "{")
      const error = yield* Effect.flip(ConfigFiles.load({ ...machine.host, files: [project] }))
      assert.include(error.message, project)
      assert.strictEqual((yield* ConfigFiles.load(machine.host)).problems.length, 1)
    })
  )
})

describe("a reading of the files", () => {
  onMachine("is applied in order, one at a time, whether it was watched or requested", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ s0: { command: "x" } }))
      const { applyNext, reload } = yield* ConfigFiles.watching(machine.host, true)
      const applied: Array<string> = []
      let running = 0
      const apply = (update: ConfigUpdate) =>
        Effect.gen(function* () {
          running += 1
          assert.strictEqual(running, 1)
          applied.push(...namesOf(update))
          yield* Effect.sleep(30)
          running -= 1
        })
      yield* Effect.forkScoped(Effect.forever(applyNext(apply)))
      const asked: Array<Fiber.RuntimeFiber<void>> = []
      for (let index = 1; index <= 10; index += 1) {
        machine.write(machine.globalFile(), json({ [`s${index}`]: { command: "x" } }))
        asked.push(yield* Effect.fork(reload(apply)))
        yield* Effect.sleep(index % 2 === 0 ? 5 : 90)
      }
      yield* Effect.forEach(asked, (fiber) => Fiber.join(fiber))
      const numbers = applied.map((name) => Number(name.slice(1)))
      assert.deepStrictEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b)
      )
      assert.strictEqual(numbers.at(-1), 10)
    })
  )

  onMachine("is repeated periodically if directories cannot be watched", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ a: { command: "x" } }))
      const { applyNext } = yield* ConfigWatch.make({
        surroundings: surroundings(machine.host),
        program: {},
        watch: true,
        watchDirectory: () => {
          throw new Error("ENOSPC")
        }
      })
      const applied: Array<string> = []
      const apply = (update: ConfigUpdate) => Effect.sync(() => applied.push(...namesOf(update)))
      const looking = yield* Effect.fork(applyNext(apply))
      machine.write(machine.globalFile(), json({ b: { command: "x" } }))
      yield* Fiber.join(looking).pipe(Effect.timeout("50 seconds"))
      assert.deepStrictEqual(applied, ["b"])
    })
  )
})

describe("a file that becomes empty", () => {
  for (const ending of ["toml", "json"]) {
    onMachine(`stops the server that was removed as the last one, in ${ending}`, (machine) =>
      Effect.gen(function* () {
        machine.write(machine.globalFile(ending), ending === "json" ? "\n" : "")
        yield* ConfigFiles.add("a", { command: "x" }, machine.host)
        const { again, first } = yield* reloading(machine)
        assert.deepStrictEqual(first, ["a"])
        yield* ConfigFiles.remove("a", machine.host)
        assert.strictEqual(machine.read(machine.globalFile(ending)).trim(), "")
        assert.deepStrictEqual(yield* again, [[]])
      })
    )
  }

  for (const scope of ["global", "project"] as const) {
    onMachine(`stops nothing if it is being rewritten, as a ${scope} file`, (machine) =>
      Effect.gen(function* () {
        const file = machine.write(
          scope === "global" ? machine.globalFile() : "mcp-supervisor.json",
          json({ a: { command: "x" } })
        )
        yield* ConfigFiles.trust(machine.host)
        const { applyNext, reload } = yield* ConfigFiles.watching(machine.host, true)
        const applied: Array<ConfigUpdate> = []
        const apply = (update: ConfigUpdate) => Effect.sync(() => applied.push(update))
        yield* Effect.forkScoped(Effect.forever(applyNext(apply)))
        for (const how of ["watched", "asked"]) {
          machine.write(file, how === "watched" ? "" : "\n")
          const asked = yield* Effect.fork(how === "asked" ? reload(apply) : Effect.void)
          yield* Effect.sleep(100)
          machine.write(file, json({ a: { command: "x" } }))
          yield* Fiber.join(asked)
          yield* Effect.sleep(400)
        }
        assert.deepStrictEqual(applied, [])
        machine.write(file, "")
        yield* reload(apply)
        assert.deepStrictEqual(applied.map(namesOf), [[]])
      })
    )
  }

  onMachine("stops nothing if it is rewritten in place repeatedly", (machine) =>
    Effect.gen(function* () {
      const file = machine.write(machine.globalFile(), json({ a: { command: "x" } }))
      const { applyNext } = yield* ConfigFiles.watching(machine.host, true)
      const applied: Array<ConfigUpdate> = []
      const apply = (update: ConfigUpdate) => Effect.sync(() => applied.push(update))
      const looking = yield* Effect.fork(applyNext(apply))
      // longer than one second look
      for (let writes = 0; writes < 12; writes += 1) {
        machine.write(file, "\n".repeat(writes))
        yield* Effect.sleep(50)
      }
      machine.write(file, json({ b: { command: "x" } }))
      yield* Fiber.join(looking).pipe(Effect.timeout("50 seconds"))
      assert.deepStrictEqual(applied.map(namesOf), [["b"]])
    })
  )
})
