import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Inspectable, Layer, Metric, Redacted } from "effect"
import { CatalogStore } from "../../src/supervision/catalog/CatalogStore.js"
import type { Options } from "../../src/supervision/model.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, type Harness, passed, recordLogs, recordSpans, type Setup, settle, supervise } from "./support.js"

const canary = "canary-7f3a9c51e8d2"

const withSecrets = {
  local: { command: "server", args: ["--token", canary, `--api-key=${canary}`], env: { TOKEN: canary } },
  redacted: { command: Redacted.make("server"), args: [Redacted.make(canary)] },
  headers: { url: "https://example.com/mcp", headers: { authorization: `Bearer ${canary}` } },
  query: { url: `https://example.com/mcp?token=${canary}` },
  userinfo: { url: `https://me:${canary}@example.com/mcp` }
} as const

const text = (value: unknown) => `${Inspectable.stringifyCircular(value)} ${String(value)}`

/** Runs a supervisor, and searches for the canary in all its output. */
const watched = <E>(options: Options, setup: Setup, use: (harness: Harness) => Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    const { spans, tracer } = recordSpans()
    const { layer, logs } = recordLogs()
    const harness = yield* Effect.gen(function* () {
      const harness = yield* supervise(options, setup)
      yield* use(harness)
      yield* settle
      return harness
    }).pipe(Effect.withTracer(tracer), Effect.provide(layer))
    const told = {
      events: harness.events.map(text),
      snapshots: (yield* harness.supervisor.servers).map(text),
      logs: logs.map(text),
      spans: spans.map(({ attributes, events, name }) => text({ name, attributes: [...attributes], events })),
      // an exporter records why a span failed
      "ends of spans": spans.flatMap(({ exits }) =>
        exits.flatMap((exit) => (Exit.isFailure(exit) ? [Cause.pretty(exit.cause)] : []))
      ),
      metrics: (yield* Metric.snapshot).map(({ metricKey }) =>
        text({ name: metricKey.name, tags: metricKey.tags.map(({ key, value }) => [key, value]) })
      )
    }
    for (const [where, texts] of Object.entries(told)) {
      for (const each of texts) assert.notInclude(each, canary, where)
    }
    return { ...harness, logs }
  })

const names = Object.keys(withSecrets) as ReadonlyArray<keyof typeof withSecrets>

const scripts = Object.fromEntries(names.map((name) => [name, FakeConnector.open({ tools: ["x"] })]))

const dying =
  (message: string): NonNullable<Setup["around"]> =>
  () => ({ connect: () => Effect.die(new Error(message)) })

describe("a secret of the config", () => {
  it.scoped("is in no output of a normal run, and reaches the server", () =>
    Effect.gen(function* () {
      const { controls } = yield* watched({ servers: withSecrets }, { scripts }, ({ controls, supervisor }) =>
        Effect.gen(function* () {
          for (const name of names) yield* supervisor.callTool(`${name}_x`)
          for (const name of names) {
            yield* Effect.flatMap(controls.awaitAttempt(name), (attempt) => attempt.crash(closed(name)))
          }
          yield* settle
          yield* supervisor.reconcile({ servers: { ...withSecrets, local: { ...withSecrets.local, cwd: "/tmp" } } })
        })
      )
      const { options } = yield* controls.awaitAttempt("local")
      assert.strictEqual(options.config._tag, "Local")
      if (options.config._tag !== "Local") return
      assert.strictEqual(Redacted.value(options.config.environment.TOKEN as Redacted.Redacted), canary)
    })
  )

  it.scoped("is not shown if the server repeats it in its introduction", () =>
    Effect.gen(function* () {
      const around: Setup["around"] = (connector) => ({
        connect: (options) =>
          Effect.map(connector.connect(options), (session) => ({
            ...session,
            info: {
              ...session.info,
              instructions: `Use ${canary} with care.`,
              serverInfo: { name: `server of ${canary}`, version: "1", icons: [{ src: `https://x/?k=${canary}` }] }
            }
          }))
      })
      const { supervisor } = yield* watched({ servers: withSecrets }, { scripts, around }, () => Effect.void)
      for (const { instructions, serverInfo, status } of yield* supervisor.servers) {
        assert.match(instructions ?? "", /^Use .+ with care\.$/)
        assert.deepInclude(status, { instructions, serverInfo })
      }
    })
  )

  for (const name of names) {
    it.scoped(`is not shown if a defect of the connector contains it (${name})`, () =>
      Effect.gen(function* () {
        const { status } = yield* watched(
          { servers: { [name]: withSecrets[name] } },
          { around: dying(`cannot use ${canary}!`) },
          () => passed("1 minute")
        )
        const failed = yield* status(name)
        assert.strictEqual(failed.status, "failed")
        assert.include(failed.status === "failed" ? failed.error : "", "cannot use")
      })
    )
  }

  it.scoped("is not shown if a defect in the loop contains it", () =>
    Effect.gen(function* () {
      const store = Layer.succeed(CatalogStore, {
        load: () => Effect.succeedNone,
        save: () => {
          throw new Error(`cannot save ${canary}`)
        }
      })
      const { eventsOf } = yield* watched({ servers: { local: withSecrets.local } }, { scripts, store }, () =>
        passed("3 seconds")
      )
      const told = eventsOf("Diagnostic").map(({ diagnostic }) => diagnostic.message)
      assert.isTrue(told.some((message) => message.includes("cannot save")))
    })
  )

  it.scoped("is not shown if a defect's text looks like a stack frame", () =>
    Effect.gen(function* () {
      const store = Layer.succeed(CatalogStore, {
        load: () => Effect.succeedNone,
        save: () => {
          throw new Error(`cannot save\n    at ${canary} (somewhere)`)
        }
      })
      const { logs } = yield* watched({ servers: { local: withSecrets.local } }, { scripts, store }, () =>
        passed("3 seconds")
      )
      assert.isTrue(logs.some(({ message }) => message === "mcp.server.fault"))
    })
  )

  it.scoped("is not shown if it is requested for each attempt and a defect contains it", () =>
    Effect.asVoid(
      watched(
        {
          servers: { remote: { url: "https://example.com/mcp" } },
          headers: () => Effect.succeed({ authorization: Redacted.make(`Bearer ${canary}`) })
        },
        { around: dying(`cannot send Bearer ${canary}`) },
        () => passed("1 minute")
      )
    )
  )

  it.scoped("is not shown if it is at an invalid place", () =>
    Effect.gen(function* () {
      const wrong = { command: "server", env: { TOKEN: { value: canary } }, timeout: canary, [canary.slice(1)]: 1 }
      const { supervisor } = yield* watched({ servers: { wrong: wrong as never } }, {}, ({ supervisor }) =>
        Effect.gen(function* () {
          yield* Effect.ignore(supervisor.add("other", wrong as never))
          yield* Effect.ignore(supervisor.reconcile({ servers: {}, defaults: { timeout: canary } }))
        })
      )
      assert.strictEqual((yield* supervisor.server("wrong")).status.status, "failed")
    })
  )

  it.scoped("is not shown in the diagnostics of a list that contains it", () =>
    Effect.asVoid(
      watched(
        { servers: { local: withSecrets.local } },
        {
          scripts: {
            local: FakeConnector.open({
              tools: {
                items: [{ name: "x", inputSchema: { type: "object", properties: { a: { pattern: `(${canary}` } } } }],
                diagnostics: [
                  { severity: "warning", code: "malformed_tool", message: `bad ${canary}`, subject: `t-${canary}` }
                ]
              }
            })
          }
        },
        ({ supervisor }) => Effect.asVoid(supervisor.callTool("local_x", { a: "b" }))
      )
    )
  )

  it.scoped("is in no event, span or error if it is in the arguments of a call", () =>
    Effect.gen(function* () {
      const strict = { name: "x", inputSchema: { type: "object", properties: { n: { type: "number" } } } }
      yield* watched(
        { servers: { a: { command: "server" } } },
        { scripts: { a: FakeConnector.open({ tools: [strict] }) } },
        ({ supervisor }) =>
          Effect.gen(function* () {
            const error = yield* Effect.flip(supervisor.callTool("a_x", { n: canary }))
            assert.strictEqual(error._tag, "InvalidArguments")
            assert.notInclude(text(error), canary)
          })
      )
    })
  )
})
