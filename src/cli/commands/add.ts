import { existsSync, realpathSync } from "node:fs"
import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { excerpt } from "../../domain/excerpt.js"
import type * as ServerConfig from "../../domain/ServerConfig.js"
import { shellWord } from "../../domain/shellWord.js"
import { ask } from "../ask.js"
import { afterEdit, editOptions } from "../editing.js"
import { entryOf, lineWords } from "../entry.js"
import { WrongUsage } from "../failure.js"
import { addCommand, type PlainSecret, withVariables } from "../plainSecrets.js"
import { type Home, placedLine } from "../relativeWords.js"
import { Screen } from "../Screen.js"
import { argument, command, flag, type Input, text, texts } from "../spec.js"

export const spec = command({
  name: "add",
  summary: "Write a server into the config file",
  details:
    "The project's file if there is one, else your own; its comments and order stay. What is missing is asked for on a terminal. Relative paths that exist are made absolute; in a project's file they stay relative. Secrets are better named than written: --env TOKEN={env:TOKEN}.",
  group: "configure",
  arguments: { name: argument("optional", "name", "What to call it") },
  options: {
    url: text("URL", "The address of a remote server"),
    command: text("COMMAND", "The program of a local server"),
    args: texts("ARG", "Its arguments, up to the next option", true),
    env: texts("KEY=VALUE", "A variable for its environment; may be repeated"),
    header: texts("KEY=VALUE", "A header for its requests; may be repeated"),
    transport: text("KIND", "How it is reached, where that is not found out", ["stdio", "http", "sse"]),
    oauth: flag("It wants a login"),
    noOauth: flag("Never log in to it"),
    oauthClientId: text("ID", "The client that is registered for us"),
    oauthClientSecret: text("SECRET", "The secret of that client"),
    oauthScope: text("SCOPE", "What to ask to be allowed"),
    scope: text("SCOPE", "Which file", ["project", "global"])
  },
  rest: "command args…",
  examples: [
    "add files -- npx -y @modelcontextprotocol/server-filesystem .",
    "add github --url https://api.githubcopilot.com/mcp/ --oauth",
    "add search --command node --args server.mjs --port 0 --env 'KEY={env:SEARCH_KEY}'"
  ]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const name = input.name ?? (yield* asked("a name", "Name of the server"))
    let made = entryOf(input)
    if (made._tag === "Open") {
      const where = yield* asked(
        "--url, --command or -- command…",
        "Its command, or the https:// address of a remote server"
      )
      const rest = existsSync(where) ? [where] : lineWords(where)
      made = entryOf(isAddress(where) ? { ...input, url: where } : { ...input, rest })
    }
    if (made._tag !== "Entry")
      return yield* new WrongUsage({ message: made._tag === "Open" ? "nothing to run" : made.message })
    const options = { ...editOptions(input), scope: scopeOf(input.scope) }
    const { file, project } = yield* ConfigFiles.newServerFile(options)
    const placed = yield* withPlacedPaths(made.entry, options.cwd, project)
    const { entry: named, found } = project === undefined ? { entry: placed, found: [] } : withVariables(name, placed)
    const takesVariables = found.length > 0 && screen.canAsk && (yield* prefersVariables(found, file))
    const entry = takesVariables ? named : placed
    const edited = yield* ConfigFiles.add(name, entry, options)
    yield* afterEdit(input, edited, `added ${name} to ${edited.file}`)
    if (found.length > 0 && !takesVariables) {
      yield* screen.note(
        `${found.map(({ option }) => option).join(" and ")} stands in ${edited.file} as plain text, and a project's file is shared. To name a variable instead:`
      )
      yield* screen.note(`  mcp-supervisor remove ${shellWord(name)} && ${addCommand(name, named)}`)
    }
    if (!input.json) yield* screen.note(`see whether it works: mcp-supervisor test ${name}`)
  })

/** The server may run in another directory than this command. */
const withPlacedPaths = (entry: ServerConfig.Input, cwd: string, home: Home | undefined) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    if (!("command" in entry) || !Array.isArray(entry.command)) return entry
    const { changes, line } = placedLine(
      entry.command as ReadonlyArray<string>,
      existsSync(cwd) ? realpathSync(cwd) : cwd,
      home
    )
    const why = home === undefined ? "the server may run in another directory" : `the server runs in ${home.runsIn}`
    for (const { from, to } of changes)
      yield* screen.note(`${JSON.stringify(excerpt(from))} is written as ${to}: ${why}`)
    return changes.length === 0 ? entry : ({ ...entry, command: line } as ServerConfig.Input)
  })

const prefersVariables = (found: ReadonlyArray<PlainSecret>, file: string) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    for (const { instead, option } of found)
      yield* screen.note(
        `${option} would stand in ${file} as plain text, and a project's file is shared; better: ${instead}`
      )
    const variables = [...new Set(found.map(({ variable }) => variable))].join(", ")
    const answer = yield* ask({ text: `Name ${variables} instead of writing it down? y/n`, preset: "y" })
    return /^y(?:es)?$/i.test(answer)
  })

const scopeOf = (scope: string | undefined) => (["project", "global"] as const).find((each) => each === scope)

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text)

const asked = (what: string, question: string) =>
  Effect.gen(function* () {
    const { canAsk } = yield* Screen
    return canAsk ? yield* ask({ text: question }) : yield* new WrongUsage({ message: `${what} is missing` })
  })
