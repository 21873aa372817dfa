/**
 * The client scenarios of the official conformance suite that need no login.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const scenarios = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "request-metadata",
  "sep-2322-client-request-state",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation"
]

const Checks = Schema.parseJson(
  Schema.Array(
    Schema.Struct({ id: Schema.String, status: Schema.String, errorMessage: Schema.optional(Schema.String) })
  )
)

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** `exec`, because the suite cannot end a client behind a shell. It splits the command at blanks. */
const command = `exec ${process.execPath} ${pathOf("../../node_modules/vite-node/vite-node.mjs")} ${pathOf("support/conformanceClient.ts")}`

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-conformance-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
)

const runSuite = (scenario: string, directory: string) =>
  Effect.async<{ readonly code: unknown; readonly output: string }>((resume) => {
    const shim = ["--import", new URL("support/conformanceShim.mjs", import.meta.url).href]
    const suite = pathOf("../../node_modules/@modelcontextprotocol/conformance/dist/index.js")
    const options = ["--scenario", scenario, "--command", command, "--timeout", "60000", "-o", directory]
    const child = execFile(process.execPath, [...shim, suite, "client", ...options], (error, stdout, stderr) =>
      resume(Effect.succeed({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr }))
    )
    return Effect.sync(() => child.kill())
  })

/** The suite writes one file of checks, in a directory of its own making. */
const checksIn = (directory: string) =>
  Effect.gen(function* () {
    const files = readdirSync(directory, { recursive: true, encoding: "utf8" })
    const file = files.find((name) => name.endsWith("checks.json"))
    if (file === undefined) return []
    return yield* Schema.decode(Checks)(readFileSync(join(directory, file), "utf8"))
  })

/** The suite also passes a client that does nothing: something has to have succeeded, and nothing less than that. */
const passes = (scenario: string) =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const { code, output } = yield* runSuite(scenario, directory)
    const checks = yield* checksIn(directory)
    const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING")
    assert.deepStrictEqual(bad, [], output)
    assert.strictEqual(code, 0, output)
    assert.isTrue(
      checks.some(({ status }) => status === "SUCCESS"),
      `no check succeeded\n${output}`
    )
  })

// each takes the better part of a core while it starts
const turns = Effect.unsafeMakeSemaphore(2)

const patience = 120_000

describe("the conformance suite passes", () => {
  describe.concurrent("at any speed", () => {
    for (const scenario of scenarios) {
      it.scopedLive(scenario, () => turns.withPermits(1)(passes(scenario)), patience)
    }
  })

  // it measures how long we take to come back, so nothing else of ours runs beside it
  it.scopedLive("sse-retry", () => passes("sse-retry"), patience)
})
