import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { ConfigFiles } from "../../../src/index.js"
import { follow } from "../../../src/config/watch/follow.js"
import { surroundings } from "../../../src/config/ConfigHost.js"
import type { Desired } from "../../../src/domain/server/Desired.js"
import { type Machine, onMachine } from "../../config/support.js"

const json = (mcp: object, more: object = {}) => JSON.stringify({ mcp, ...more })

/** What is applied each time somebody asks for the files to be read again. */
const reloading = (machine: Machine) =>
  Effect.gen(function* () {
    const { first, reload } = yield* ConfigFiles.following(machine.host, false)
    const told = (desired: Desired) =>
      desired.rejected === undefined
        ? Object.keys(desired.servers ?? {}).sort()
        : desired.rejected.issues.map(({ file, found }) => `${file}: ${found}`)
    const again = Effect.gen(function* () {
      const applied: Array<Desired> = []
      yield* reload((desired) => Effect.sync(() => void applied.push(desired)))
      return applied.map(told)
    })
    return { first: told(first.desired), again }
  })

describe("files of others, while they are followed", () => {
  onMachine("one that breaks is said once, and what it said before goes on beside every edit of one's own", (machine) =>
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
      // it is no secret that it is still broken, in another way
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

  onMachine("a document of the organisation that is no use costs nobody an edit", (machine) =>
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

  onMachine("one that was also named explicitly is one's own", (machine) =>
    Effect.gen(function* () {
      const project = machine.write("mcp-supervisor.json", "{")
      const error = yield* Effect.flip(ConfigFiles.load({ ...machine.host, files: [project] }))
      assert.include(error.message, project)
      assert.strictEqual((yield* ConfigFiles.load(machine.host)).problems.length, 1)
    })
  )
})

describe("what was read", () => {
  onMachine("is applied in that order, one after the other, whoever asked for it", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ s0: { command: "x" } }))
      const { next, reload } = yield* ConfigFiles.following(machine.host, true)
      const applied: Array<string> = []
      let running = 0
      const apply = ({ servers }: Desired) =>
        Effect.gen(function* () {
          running += 1
          assert.strictEqual(running, 1)
          applied.push(...Object.keys(servers ?? {}))
          yield* Effect.sleep(30)
          running -= 1
        })
      yield* Effect.forkScoped(Effect.forever(next(apply)))
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

  onMachine("is looked for from time to time where nothing can be watched", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ a: { command: "x" } }))
      const { next } = yield* follow({
        surroundings: surroundings(machine.host),
        program: {},
        watch: true,
        watchDirectory: () => {
          throw new Error("ENOSPC")
        }
      })
      const applied: Array<string> = []
      const apply = ({ servers }: Desired) => Effect.sync(() => void applied.push(...Object.keys(servers ?? {})))
      const looking = yield* Effect.fork(next(apply))
      machine.write(machine.globalFile(), json({ b: { command: "x" } }))
      yield* Fiber.join(looking).pipe(Effect.timeout("50 seconds"))
      assert.deepStrictEqual(applied, ["b"])
    })
  )
})

describe("a file that becomes empty", () => {
  for (const ending of ["toml", "json"]) {
    onMachine(`because its only server was removed stops that server, in ${ending}`, (machine) =>
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
    onMachine(`while it is written anew stops nothing, of the ${scope}`, (machine) =>
      Effect.gen(function* () {
        const file = machine.write(
          scope === "global" ? machine.globalFile() : "mcp-supervisor.json",
          json({ a: { command: "x" } })
        )
        yield* ConfigFiles.trust(machine.host)
        const { next, reload } = yield* ConfigFiles.following(machine.host, true)
        const applied: Array<Desired> = []
        const apply = (desired: Desired) => Effect.sync(() => void applied.push(desired))
        yield* Effect.forkScoped(Effect.forever(next(apply)))
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
        assert.deepStrictEqual(
          applied.map(({ servers }) => servers),
          [{}]
        )
      })
    )
  }

  onMachine("again and again, because it is rewritten in place, stops nothing", (machine) =>
    Effect.gen(function* () {
      const file = machine.write(machine.globalFile(), json({ a: { command: "x" } }))
      const { next } = yield* ConfigFiles.following(machine.host, true)
      const applied: Array<Desired> = []
      const apply = (desired: Desired) => Effect.sync(() => void applied.push(desired))
      const looking = yield* Effect.fork(next(apply))
      // longer than one second look
      for (let writes = 0; writes < 12; writes += 1) {
        machine.write(file, "\n".repeat(writes))
        yield* Effect.sleep(50)
      }
      machine.write(file, json({ b: { command: "x" } }))
      yield* Fiber.join(looking).pipe(Effect.timeout("50 seconds"))
      assert.deepStrictEqual(
        applied.map(({ servers }) => Object.keys(servers ?? {})),
        [["b"]]
      )
    })
  )
})
