/** The official conformance suite, run against a program of ours: one scenario at a time. */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { bundle } from "./bundle.js"

const Checks = Schema.parseJson(
  Schema.Array(
    Schema.Struct({ id: Schema.String, status: Schema.String, errorMessage: Schema.optional(Schema.String) })
  )
)

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-conformance-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
)

export interface Run {
  /** The package of the suite. */
  readonly suite: "conformance" | "conformance-0.1"
  readonly scenario: string
  /** The revision that is spoken, where the suite can be told. */
  readonly revision?: string | undefined
  /** The program, beside this file. */
  readonly client: string
}

const mainOf = (suite: Run["suite"]) => `../../../node_modules/@modelcontextprotocol/${suite}/dist/index.js`

const run = ({ client, revision, scenario, suite }: Run, directory: string) =>
  Effect.gen(function* () {
    const main = yield* Effect.promise(() => bundle(mainOf(suite)))
    const program = yield* Effect.promise(() => bundle(client))
    // `exec`, because the suite cannot end a client behind a shell; it splits the command at blanks
    const command = ["--command", `exec ${process.execPath} ${program}`, "--timeout", "60000", "-o", directory]
    const spoken = revision === undefined ? [] : ["--spec-version", revision]
    return yield* Effect.async<{ readonly code: unknown; readonly output: string }>((resume) => {
      const args = [main, "client", "--scenario", scenario, ...spoken, ...command]
      const child = execFile(process.execPath, args, (error, stdout, stderr) =>
        resume(Effect.succeed({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr }))
      )
      return Effect.sync(() => child.kill())
    })
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
export const passes = (options: Run): Effect.Effect<void, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const { code, output } = yield* run(options, directory)
    const checks = yield* checksIn(directory)
    const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING")
    assert.deepStrictEqual(bad, [], output)
    assert.strictEqual(code, 0, output)
    assert.isTrue(
      checks.some(({ status }) => status === "SUCCESS"),
      `no check succeeded\n${output}`
    )
  })

/** It measures how long we take to come back, so nothing else of ours runs beside it. */
export const isTimed = (scenario: string) => scenario === "sse-retry"

/** The client scenarios that a revision requires. */
export const requiredBy = (revision: string): ReadonlyArray<string> => {
  const path = `../../../node_modules/@modelcontextprotocol/conformance/requirements/${revision}.yaml`
  const text = readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8")
  const [, listed = ""] = /^client:\n((?: +- .*\n)+)/m.exec(text) ?? []
  return listed.split("\n").flatMap((line) => /^ +- (\S+)/.exec(line)?.[1] ?? [])
}
