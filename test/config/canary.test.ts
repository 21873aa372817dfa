import { inspect } from "node:util"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Either } from "effect"
import { stringify } from "smol-toml"
import { local, remote } from "../../scripts/configurationPage.js"
import { ConfigFiles } from "../../src/index.js"
import * as DecodeConfig from "../../src/supervision/servers/decodeConfig.js"
import type { Machine } from "./support.js"
import { onMachine } from "./support.js"

/** As tokens look, and one that looks like any word: it may stand where nothing but a closed set of words is shown. */
const token = "ghp_CaNaRy16C7e42F292c6912E7710c838347"
const spaced = "sk-CaNaRy 4f9a"
const word = "canary"

/** As keys look that people are to type. */
const grouped = ["7F3K-9Q2M-X4TZ-8WPL", "ab12-cd34-ef56-78gh", "1234-5678-9012", "AB12-CD34"]
const pin = 42_424_242

const canary = /canary|42424242|9Q2M|cd34|5678[-_]9/i

const shownAs = (shown: unknown): string => `${JSON.stringify(shown)} ${inspect(shown, { depth: 20 })}`

const leaks = (shown: unknown): boolean => canary.test(shownAs(shown))

/** What somebody might put where a value belongs, right or wrong. */
const shapes: Readonly<Record<string, (secret: string) => unknown>> = {
  text: (secret) => secret,
  list: (secret) => [secret, secret],
  inList: (secret) => [{ a: secret }, [secret]],
  value: (secret) => ({ a: secret, b: { c: secret } }),
  key: () => ({ [token]: "x", [`Authorization: Bearer ${token}`]: 1 }),
  deepKey: () => ({ a: { [token]: { b: 1 } } }),
  variable: () => [`\${${token}}`, `{env:${token}}`, `{env:${spaced}}`, `\${input:${token}}`, `$\${${token}}`],
  file: () => `{file:${token}}`,
  fallback: (secret) => `{env:NOT_SET:-${secret}}`,
  broken: (secret) => `{env:NOT_SET:-{env:${secret}}}`,
  url: () => `https://${token}:${token}@example.com/mcp/${token}/sse?${token}&k=${token}#${token}`,
  relative: () => `./${token}/x`,
  flags: (secret) => [
    "--token",
    secret,
    `--api-key=${secret}`,
    `--x=${token}`,
    "-e",
    `${token}=${secret}`,
    `KEY=${secret}`
  ],
  bearer: () => `Bearer ${token}`,
  grouped: () =>
    grouped.flatMap((key) => [key, `--key-${key}`, `--x=${key}`, `mcp-server-${key}`, `https://example.com/${key}/x`]),
  groupedUrl: () => `https://${grouped[1]}.example.com/${grouped.join("/")}?${grouped[0]}=1`,
  groupedPath: () => `./${grouped.join("/")}/x.js`,
  groupedKey: () => Object.fromEntries(grouped.map((key) => [key, "x"])),
  groupedVariable: () => grouped.map((key) => `{env:KEY_${key.replaceAll("-", "_").toUpperCase()}}`)
}

/** Keys where a word may be a program, a part of a path, or a name. */
const words = new Set(["command", "cwd", "caFile", "env_vars", "includeTools", "disabled_tools"])

/** An entry for every key and shape, and keys that nobody knows. */
const entries = (shape: string): Record<string, unknown> => {
  const make = shapes[shape]!
  const of = (kind: string, base: object, keys: ReadonlyArray<string>) =>
    keys.map((path, index) => {
      const value = make(words.has(path) ? token : path.length % 2 === 0 ? token : word)
      const nested = path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
      return [`${kind}-${index}-${shape}`, { ...base, ...(nested as object) }] as const
    })
  const others = [
    "tokn",
    token,
    "bearer_token",
    "bearer_token_env_var",
    "env_vars",
    "env_http_headers",
    "http_headers",
    "includeTools",
    "disabled_tools",
    "startup_timeout_sec",
    "envFile",
    "description"
  ]
  return Object.fromEntries([
    ["pin", { command: "x", args: [pin], cwd: pin, unknown: pin, env: { PIN: pin } }],
    // what is not known yet may be right
    ["pinLater", { command: "{env:LATER}", args: [pin, `--pin=${pin}`], cwd: pin, unknown: pin, env: { PIN: pin } }],
    ...of("local", { command: "x" }, [...local.map(({ path }) => path), ...others]),
    ...of("remote", { url: "https://example.com" }, [...remote.map(({ path }) => path), ...others]),
    ["whole", make(word)]
  ])
}

const formats: Readonly<Record<string, (document: object) => string>> = {
  json: (document) => JSON.stringify(document),
  jsonc: (document) => `// ${token}\n${JSON.stringify(document, null, 2)} /* ${token} */`,
  toml: (document) => `# ${token}\n${stringify(document)}`
}

/** Everything that is there to be looked at: what a supervisor is asked for is not. */
const shownOf = (options: ConfigFiles.Options) =>
  Effect.gen(function* () {
    const loaded = yield* Effect.either(ConfigFiles.load(options))
    const explained = yield* Effect.either(ConfigFiles.explain(options))
    if (Either.isLeft(loaded)) return [loaded.left, loaded.left.message, explained]
    const { desired, ...rest } = loaded.right
    const { agents: _, defaults: __, permission: ___, servers: ____, tools: _____, ...open } = desired
    const wanted = yield* Effect.either(DecodeConfig.decode(desired))
    const definitions = Either.isLeft(wanted)
      ? [wanted.left, wanted.left.message]
      : [...wanted.right.definitions.values()].map(({ diagnostics, settings }) => [diagnostics, settings])
    const messages = Object.values(desired.unreadable ?? {}).map((error) => [error.message, String(error)])
    return [rest, open, messages, explained, definitions]
  })

const look = (machine: Machine, what: string, options: ConfigFiles.Options = machine.host) =>
  Effect.map(shownOf(options), (shown) => {
    for (const part of shown) {
      if (leaks(part)) {
        const text = shownAs(part)
        const at = text.search(canary)
        assert.fail(`${what}: ${text.slice(Math.max(0, at - 300), at + 60)}`)
      }
    }
  })

describe("a secret in any field appears in no output", () => {
  for (const [ending, format] of Object.entries(formats)) {
    for (const shape of Object.keys(shapes)) {
      onMachine(`as ${shape}, in ${ending}: by load, explain and plan`, (machine) =>
        Effect.gen(function* () {
          const text = format({ mcp: entries(shape) })
          const file = machine.write(`f.${ending}`, text)
          yield* look(machine, "trusted", { ...machine.host, files: [file] })
          machine.write(`mcp-supervisor.${ending}`, text)
          yield* look(machine, "untrusted")
          // most of these files are wrong as a whole, and say so
          const settings = ["tools", "agent", "permission", "experimental", token]
          for (const key of settings) {
            const other = machine.write(`g.${ending}`, format({ [key]: shapes[shape]!(word) }))
            yield* look(machine, key, { ...machine.host, files: [other] })
          }
          const nested = { agent: { a: { tools: shapes[shape]!(word) } }, experimental: { mcp_timeout: word } }
          const deep = machine.write(`h.${ending}`, format(nested))
          yield* look(machine, "nested", { ...machine.host, files: [deep] })
        })
      )
    }

    onMachine(`in a truncated text in ${ending}`, (machine) =>
      Effect.gen(function* () {
        const entry = { headers: { [token]: `Bearer ${token}` }, url: `https://example.com/${token}`, [token]: token }
        const text = format({ mcp: { a: entry }, [token]: { [token]: token } })
        for (let end = 1; end < text.length; end += 7) {
          const file = machine.write(`f.${ending}`, text.slice(0, end))
          yield* look(machine, text.slice(0, end), { ...machine.host, files: [file] })
          const torn = machine.write(`f.${ending}`, text.slice(0, end) + text.slice(end + 1))
          yield* look(machine, text.slice(0, end), { ...machine.host, files: [torn] })
        }
      })
    )
  }

  for (const shape of Object.keys(shapes)) {
    onMachine(`as ${shape}: by import and edits`, (machine) =>
      Effect.gen(function* () {
        const text = JSON.stringify({ mcpServers: entries(shape) })
        machine.write(join(machine.home, ".cursor/mcp.json"), text)
        const imported = yield* ConfigFiles.importFrom("cursor", machine.host)
        assert.include(
          imported.servers.map(({ name }) => name),
          "pinLater"
        )
        if (leaks(imported)) {
          const shown = shownAs(imported)
          const at = shown.search(canary)
          assert.fail(shown.slice(Math.max(0, at - 300), at + 60))
        }
        for (const [name, entry] of Object.entries(entries(shape)).slice(0, 15)) {
          const added = yield* Effect.either(ConfigFiles.add(name, entry as never, machine.host))
          assert.isFalse(leaks(added), inspect(added))
        }
      })
    )
  }

  onMachine("in the organisation's document and its URL", (machine) =>
    Effect.gen(function* () {
      const url = (machine.env.MCP_SUPERVISOR_DEFAULTS_URL = `https://u:${token}@example.com/d/${token}/x?k=${token}`)
      for (const shape of Object.keys(shapes)) {
        const text = JSON.stringify({ mcp: entries(shape), tools: shapes[shape]!(word) })
        machine.write(
          join(machine.stateDir, "organisation.json"),
          JSON.stringify({ version: 1, url, fetchedAt: 0, text })
        )
        yield* look(machine, shape)
      }
    })
  )
})
