import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { type Machine, onMachine } from "./support.js"

const entries = (count: number, prefix = "s") =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, { command: "x" }]))

const document = (count: number, more: object = {}) => JSON.stringify({ mcp: entries(count), ...more })

const namesOf = ({ desired }: ConfigFiles.Loaded) => Object.keys(desired.servers ?? {})

const tooMany = ({ diagnostics }: ConfigFiles.Loaded) => diagnostics.filter(({ code }) => code === "too_many_servers")

const projectFile = (machine: Machine, text: string) => machine.write("mcp-supervisor.json", text)

describe("the number of servers in one file", () => {
  onMachine("is limited: the first 1,000 are used, and one diagnostic names file, count and key", (machine) =>
    Effect.gen(function* () {
      const file = machine.write(machine.globalFile(), document(1003))
      const loaded = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(namesOf(loaded), Object.keys(entries(1000)))
      assert.deepInclude(tooMany(loaded), {
        severity: "warning",
        code: "too_many_servers",
        message: '3 of the 1003 servers in this file are left out: "maxServers" allows 1000',
        path: [],
        file,
        line: 1,
        column: 1
      })
      assert.lengthOf(tooMany(loaded), 1)
    })
  )

  onMachine("is limited by the maxServers of the highest layer", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), document(5, { maxServers: 3 }))
      assert.deepStrictEqual(namesOf(yield* ConfigFiles.load(machine.host)), ["s0", "s1", "s2"])
      const file = machine.write("more.json", JSON.stringify({ mcp: entries(4, "t"), maxServers: 2 }))
      const loaded = yield* ConfigFiles.load({ ...machine.host, files: [file] })
      assert.deepStrictEqual(namesOf(loaded), ["s0", "s1", "t0", "t1"])
      assert.lengthOf(tooMany(loaded), 2)
      machine.write(machine.globalFile(), document(1200, { maxServers: 1100 }))
      assert.lengthOf(namesOf(yield* ConfigFiles.load(machine.host)), 1100)
    })
  )

  onMachine("is at most 200 in an untrusted file, which cannot raise it", (machine) =>
    Effect.gen(function* () {
      const file = projectFile(machine, document(250, { maxServers: 5000 }))
      const before = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(namesOf(before), Object.keys(entries(200)))
      assert.lengthOf(before.layers.find(({ name }) => name === file)!.untrusted, 200)
      const [diagnostic, ...more] = tooMany(before)
      assert.lengthOf(more, 0)
      assert.strictEqual(diagnostic!.file, file)
      assert.include(diagnostic!.message, "50 of the 250 servers")
      assert.include(diagnostic!.message, '"maxServers"')
      yield* ConfigFiles.trust(machine.host)
      const after = yield* ConfigFiles.load(machine.host)
      assert.lengthOf(namesOf(after), 250)
      assert.lengthOf(tooMany(after), 0)
    })
  )

  onMachine("a maxServers of the user's own does not raise it for a file that is not trusted", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), '{ "maxServers": 5000 }')
      projectFile(machine, document(250))
      assert.lengthOf(namesOf(yield* ConfigFiles.load(machine.host)), 200)
    })
  )

  onMachine("is at most 200 for all untrusted project files together", (machine) =>
    Effect.gen(function* () {
      const directories = Array.from({ length: 10 }, (_, depth) => join(machine.cwd, ...Array(depth).fill("d")))
      const files = directories.flatMap((directory, depth) =>
        [".json", ".jsonc"].map((ending) =>
          machine.write(
            join(directory, `mcp-supervisor${ending}`),
            JSON.stringify({ mcp: entries(150, `s${depth}${ending}-`) })
          )
        )
      )
      const host = { ...machine.host, cwd: directories.at(-1)! }
      const before = yield* ConfigFiles.load(host)
      assert.lengthOf(namesOf(before), 200)
      assert.lengthOf(before.desired.untrusted!, 200)
      assert.deepStrictEqual(
        tooMany(before).map(({ file }) => file),
        files.slice(1)
      )
      assert.include(tooMany(before)[0]!.message, "100 of the 150 servers in this file")
      assert.include(tooMany(before)[0]!.message, "all project files together")
      // what is approved is not counted
      yield* ConfigFiles.trust({ ...host, file: files.at(-1)! })
      const after = yield* ConfigFiles.load(host)
      assert.lengthOf(namesOf(after), 350)
      assert.lengthOf(after.desired.untrusted!, 200)
    })
  )

  onMachine("is limited by the total size of all project files", (machine) =>
    Effect.gen(function* () {
      const pad = " ".repeat(3 * 1024 * 1024)
      const names = ["mcp-supervisor.json", "a/mcp-supervisor.json", "a/b/mcp-supervisor.json"]
      const files = names.map((name) => machine.write(name, `${document(1)}${pad}`))
      const { layers, problems } = yield* ConfigFiles.load({ ...machine.host, cwd: join(machine.cwd, "a", "b") })
      assert.deepStrictEqual(
        layers.map(({ name }) => name),
        files.slice(0, 2)
      )
      assert.include(problems[0]?.message, `${files[2]}: (root): expected a config file, found`)
      assert.include(problems[0]?.message, "all project files together")
    })
  )

  onMachine("does not displace approved servers when others are added before them", (machine) =>
    Effect.gen(function* () {
      projectFile(machine, document(3))
      yield* ConfigFiles.trust(machine.host)
      projectFile(machine, JSON.stringify({ mcp: { ...entries(300, "new"), ...entries(3) } }))
      const { desired } = yield* ConfigFiles.load(machine.host)
      const names = Object.keys(desired.servers ?? {})
      assert.lengthOf(names, 203)
      assert.deepStrictEqual(
        names.filter((name) => !desired.untrusted?.includes(name)),
        ["s0", "s1", "s2"]
      )
    })
  )

  for (const wrong of [0, -1, 1.5, 10_001, '"many"', "null"]) {
    onMachine(`maxServers of ${wrong} is an error with its place`, (machine) =>
      Effect.gen(function* () {
        const file = machine.write(machine.globalFile(), `{ "maxServers": ${wrong} }`)
        const error = yield* Effect.flip(ConfigFiles.load(machine.host))
        assert.include(error.message, `${file}:1:17: maxServers: expected a whole number from 1 to 10000`)
      })
    )
  }

  onMachine("causes one diagnostic for 200,000 servers in an untrusted file", (machine) =>
    Effect.gen(function* () {
      const many = Array.from({ length: 200_000 }, (_, index) => `"${index.toString(36)}":{"url":"x"}`)
      projectFile(machine, `{"mcp":{${many.join(",")}}}`)
      const loaded = yield* ConfigFiles.load(machine.host)
      assert.lengthOf(namesOf(loaded), 200)
      assert.include(tooMany(loaded)[0]!.message, "199800 of the 200000 servers")
      assert.isBelow(loaded.diagnostics.length, 5)
    })
  )
})
