import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Either, FastCheck as fc, Inspectable, Option, Redacted } from "effect"
import { Secrets, ServerConfig, ToolName } from "../../src/index.js"
import { runs } from "./runs.js"

const name = fc
  .string({ minLength: 1, maxLength: 10 })
  .filter((text) => text.trim() !== "" && !text.includes("=") && text !== "__proto__")
const value = fc.string({ maxLength: 20 })
const duration = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }),
  fc
    .tuple(fc.integer({ min: 1, max: 100 }), fc.constantFrom("millis", "seconds", "minutes"))
    .map(([n, unit]) => `${n} ${unit}`)
)
const optional = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })

const common = fc.record(
  {
    enabled: fc.boolean(),
    timeout: fc.oneof(duration, fc.record({ connect: optional(duration), total: optional(duration) })),
    restart: fc.record({ base: optional(duration), maxRestarts: fc.constantFrom(undefined, "none" as const, 0, 3) }),
    health: fc.oneof(fc.boolean(), fc.record({ interval: optional(duration) })),
    protocol: fc.constantFrom("auto" as const, "legacy" as const, "2026-07-28" as const),
    lazy: fc.boolean(),
    required: fc.boolean(),
    exclusive: fc.boolean(),
    idleStop: duration,
    concurrency: fc.integer({ min: 1, max: 100 }),
    replace: fc.constantFrom("overlap" as const, "stop-first" as const),
    catalogTtl: duration,
    listBudget: fc.integer({ min: 1, max: 1_000_000_000 }),
    tools: fc.dictionary(name, fc.boolean(), { maxKeys: 3 })
  },
  { requiredKeys: [] }
)

const program = fc.tuple(name, fc.array(value, { maxLength: 4 }))
const environment = fc.dictionary(
  name.filter((key) => key !== "__proto__"),
  value,
  { maxKeys: 4 }
)

const decoded = (input: unknown, defaults?: ServerConfig.Defaults) =>
  Either.getOrThrow(ServerConfig.decode("s", input, defaults))

const config = (input: unknown, defaults?: ServerConfig.Defaults) => Option.getOrThrow(decoded(input, defaults).config)

describe("the spellings of a server", () => {
  it("normalise to the same config for a local server", () =>
    fc.assert(
      fc.property(common, program, environment, (common, [command, args], env) => {
        const ours = config({ ...common, type: "local", command: [command, ...args], environment: env })
        const spellings = [
          { ...common, command, args, env },
          { ...common, type: "stdio", command, args, env },
          { ...common, command: [command], args, environment: env },
          { ...common, command: [command, ...args], env }
        ]
        for (const spelling of spellings) assert.isTrue(ServerConfig.equals(config(spelling), ours))
      }),
      runs(500)
    ))

  it("normalise to the same config for a remote server", () =>
    fc.assert(
      fc.property(
        common,
        fc.webUrl(),
        fc.dictionary(fc.constantFrom("A", "B-C"), fc.constantFrom("", "x y")),
        (common, url, headers) => {
          const remote = config({ ...common, type: "remote", url, headers })
          for (const oauth of [true, {}, undefined]) {
            assert.isTrue(ServerConfig.equals(config({ ...common, url, headers, oauth }), remote))
          }
          const http = config({ ...common, type: "http", url, headers })
          assert.isTrue(ServerConfig.equals(config({ ...common, type: "streamable-http", url, headers }), http))
          assert.isFalse(ServerConfig.equals(remote, http))
        }
      ),
      runs(500)
    ))

  it("normalise to the same config with redacted and with plain secrets", () =>
    fc.assert(
      fc.property(program, environment, ([command, args], env) => {
        const redacted = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, Redacted.make(value)]))
        assert.isTrue(ServerConfig.equals(config({ command, args, env }), config({ command, args, env: redacted })))
      }),
      runs(500)
    ))
})

describe("decode", () => {
  it("returns a config or an error that names a place for every value", () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.record({ command: fc.anything(), timeout: fc.anything(), env: fc.anything() }),
          fc.record({ url: fc.anything(), oauth: fc.anything(), type: fc.anything() })
        ),
        (input) => {
          Either.match(ServerConfig.decode("s", input), {
            onLeft: ({ issues, message }) => {
              assert.isAbove(issues.length, 0)
              assert.match(message, /^s: invalid config: .*expected .+, found .+/s)
            },
            onRight: ({ warnings }) => assert.isArray(warnings)
          })
        }
      ),
      runs(2_000)
    ))

  it("never repeats a value in an error or a warning", () =>
    fc.assert(
      fc.property(
        fc.constantFrom(
          "type",
          "command",
          "args",
          "env",
          "cwd",
          "url",
          "headers",
          "oauth",
          "timeout",
          "restart",
          "health",
          "tools",
          "secrets",
          "protocol",
          "concurrency"
        ),
        fc.constantFrom(
          "canary-5ecret",
          { nested: "canary-5ecret" },
          ["canary-5ecret"],
          { clientSecret: { deep: "canary-5ecret" } },
          Redacted.make("canary-5ecret")
        ),
        fc.constantFrom({ command: "x" }, { url: "http://localhost" }, {}),
        (key, value, rest) => {
          const result = ServerConfig.decode("s", { ...rest, [key]: value })
          const said = Either.match(result, {
            onLeft: (error) => error.message + Inspectable.format(error) + JSON.stringify(error),
            onRight: ({ warnings }) => JSON.stringify(warnings)
          })
          assert.notInclude(said, "canary-5ecret")
        }
      ),
      runs(500)
    ))

  it("prefers the entry's own settings to the defaults, key by key", () =>
    fc.assert(
      fc.property(common, common, (own, { enabled, exclusive, required, tools, ...defaults }) => {
        const both = config({ command: "x", ...own }, defaults)
        const ownOnly = config({ command: "x", ...own })
        const defaultsOnly = config({ command: "x" }, defaults)
        for (const key of ["protocol", "lazy", "concurrency", "catalogTtl", "listBudget", "idleStop"] as const) {
          assert.strictEqual(both[key], own[key] === undefined ? defaultsOnly[key] : ownOnly[key])
        }
        if (own.timeout === undefined) assert.deepStrictEqual(both.timeout, defaultsOnly.timeout)
        if (own.health === undefined) assert.deepStrictEqual(both.health, defaultsOnly.health)
        const { base } = own.restart ?? {}
        assert.strictEqual(both.restart.base, base === undefined ? defaultsOnly.restart.base : ownOnly.restart.base)
      }),
      runs(500)
    ))
})

describe("a config", () => {
  const any = Arbitrary.make(ServerConfig.ServerConfig)

  it("filters the same tools as an equal config", () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom("*", "a*", "ab", "b*"), { minLength: 1 }),
        fc.func(fc.boolean()),
        (globs, on) => {
          const filtered = (patterns: ReadonlyArray<string>) =>
            config({ command: "x", tools: Object.fromEntries(patterns.map((glob) => [glob, on(glob)])) })
          const one = filtered(globs)
          const other = filtered(globs.toReversed())
          if (!ServerConfig.equals(one, other)) return
          for (const tool of ["a", "ab", "b", "c"]) {
            const ref = { server: "s", tool }
            assert.strictEqual(
              ToolName.filter({ server: one.tools })(ref),
              ToolName.filter({ server: other.tools })(ref)
            )
          }
        }
      )
    ))

  it("needs no change compared with an equal config, and a change otherwise", () =>
    fc.assert(
      fc.property(any, any, (a, b) => {
        assert.strictEqual(ServerConfig.compare(a, a), "none")
        assert.strictEqual(ServerConfig.compare(a, b) === "none", ServerConfig.equals(a, b))
        assert.strictEqual(ServerConfig.compare(a, b), ServerConfig.compare(b, a))
      }),
      runs(200)
    ))

  it("scrubs redacted values from a text, raw or encoded", () =>
    fc.assert(
      fc.property(any, (config) => {
        const scrub = Secrets.scrub(ServerConfig.secrets(config))
        const texts =
          config._tag === "Local"
            ? [...Object.values(config.environment), config.command, ...config.args]
            : [
                ...Object.values(config.headers),
                config.url,
                ...(config.oauth === false ? [] : Object.values(config.oauth))
              ]
        for (const text of [...texts, ...config.secrets].filter((text) => Redacted.isRedacted(text))) {
          const secret = Buffer.from(Secrets.reveal(text)).toString()
          if (secret.length < 4) continue
          for (const spelling of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
            assert.notInclude(scrub(`near ${spelling}!`), spelling)
          }
        }
      }),
      runs(200)
    ))

  it("shows no secret when it is printed", () => {
    for (const kind of ["Local", "Remote"]) {
      const secret = "canary-5ecret"
      const printed = config(
        kind === "Local"
          ? {
              command: "x",
              args: [Redacted.make(secret), `--token=${secret}`],
              env: { A: secret },
              secrets: [secret]
            }
          : {
              url: `http://localhost/?key=${secret}`,
              headers: { A: secret },
              oauth: { clientSecret: secret },
              secrets: [secret]
            }
      )
      assert.notInclude(JSON.stringify(printed) + Inspectable.format(printed), secret)
    }
  })
})
