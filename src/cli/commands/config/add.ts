import { existsSync, realpathSync } from "node:fs"
import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { excerpt } from "../../../domain/internal/excerpt.js"
import type * as ServerConfig from "../../../domain/server/ServerConfig.js"
import { transportNames } from "../../../domain/server/ServerConfig/serverTypes.js"
import { shellWord } from "../../../domain/internal/shellWord.js"
import { ask } from "../../terminal/ask.js"
import { afterEdit, editOptions } from "./editOptions.js"
import { entryOf, lineWords } from "../../words/newEntry.js"
import { WrongUsage } from "../../failure.js"
import { addCommand, type PlainSecret, withVariables } from "../../words/plainSecrets.js"
import { type ProjectFile, relocated } from "../../words/relativeWords.js"
import { Screen } from "../../terminal/Screen.js"
import { argument, command, flag, type Input, text, texts } from "../../words/spec.js"

export const spec = command({
  name: "add",
  summary: "Add a server to a config file",
  details:
    "Writes to the project file if there is one, otherwise to your global config file. Comments and order are kept. On a terminal, the command asks for missing values. Relative paths that exist are made absolute; in a project file they stay relative. Reference a secret instead of writing it: --env TOKEN={env:TOKEN}.",
  group: "configure",
  arguments: { name: argument("optional", "name", "The name of the server") },
  options: {
    url: text("URL", "The URL of a remote server"),
    command: text("COMMAND", "The program of a local server"),
    args: texts("ARG", "The arguments of --command: all words up to the next option of add", true),
    env: texts("KEY=VALUE", "An environment variable of a local server; may be repeated"),
    header: texts("KEY=VALUE", "A header of all requests to a remote server; may be repeated"),
    transport: text("KIND", "The transport. If not set, it is detected. One of", transportNames),
    oauth: flag("Write to the entry that the server uses OAuth; by default, this is detected"),
    noOauth: flag("Never use OAuth"),
    oauthClientId: text("ID", "The id of a registered OAuth client"),
    oauthClientSecret: text("SECRET", "The secret of the OAuth client"),
    oauthScope: text("SCOPE", "The OAuth scopes to request"),
    scope: text("SCOPE", "The config file to write to, one of", ["project", "global"])
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
    const name = input.name ?? (yield* answerTo("Name of the server", "the name"))
    let parsed = entryOf(input)
    if (parsed._tag === "Incomplete") {
      const target = yield* answerTo(
        "Command of the server, or https:// URL of a remote server",
        "--url, --command or -- command…"
      )
      const rest = existsSync(target) ? [target] : lineWords(target)
      parsed = entryOf(isUrl(target) ? { ...input, url: target } : { ...input, rest })
    }
    if (parsed._tag !== "Entry") {
      return yield* new WrongUsage({ message: parsed._tag === "Invalid" ? parsed.message : "the command is empty" })
    }
    const options = { ...editOptions(input), scope: scopeOf(input.scope) }
    const { file, project } = yield* ConfigFiles.newServerFile(options)
    const plain = yield* relocatedEntry(parsed.entry, options.cwd, project)
    const { entry: named, found } = project === undefined ? { entry: plain, found: [] } : withVariables(name, plain)
    const usesVariables = found.length > 0 && screen.canAsk && (yield* prefersVariables(found, file))
    const edited = yield* ConfigFiles.add(name, usesVariables ? named : plain, options)
    yield* afterEdit(input, edited, `added ${name} to ${edited.file}`)
    if (found.length > 0 && !usesVariables) {
      yield* screen.note(
        `${edited.file} is shared and contains ${found.map(({ option }) => option).join(" and ")} as plain text. To use a variable instead:`
      )
      yield* screen.note(`  mcp-supervisor remove ${shellWord(name)} && ${addCommand(name, named)}`)
    }
    if (!input.json) yield* screen.note(`to check that it works: mcp-supervisor test ${name}`)
  })

/** Rewrites the paths in the command of an entry, and prints the changes. */
const relocatedEntry = (entry: ServerConfig.Input, cwd: string, project: ProjectFile | undefined) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    if (!("command" in entry) || !Array.isArray(entry.command)) return entry
    const { changes, line } = relocated(
      entry.command as ReadonlyArray<string>,
      existsSync(cwd) ? realpathSync(cwd) : cwd,
      project
    )
    const why =
      project === undefined ? "the server may run in another directory" : `the server runs in ${project.runsIn}`
    for (const { from, to } of changes)
      yield* screen.note(`${JSON.stringify(excerpt(from))} is written as ${to}: ${why}`)
    return changes.length === 0 ? entry : ({ ...entry, command: line } as ServerConfig.Input)
  })

const prefersVariables = (found: ReadonlyArray<PlainSecret>, file: string) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    for (const { option, replacement } of found)
      yield* screen.note(`${option} is a secret, and ${file} is shared; use a variable instead: ${replacement}`)
    const variables = [...new Set(found.map(({ variable }) => variable))].join(", ")
    const answer = yield* ask({ text: `Write the variable ${variables} instead of the value? y/n`, preset: "y" })
    return /^y(?:es)?$/i.test(answer)
  })

const scopeOf = (scope: string | undefined) => (["project", "global"] as const).find((each) => each === scope)

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text)

/** Asks the question, or fails without a terminal because `missing` is not set. */
const answerTo = (question: string, missing: string) =>
  Effect.gen(function* () {
    const { canAsk } = yield* Screen
    return canAsk ? yield* ask({ text: question }) : yield* new WrongUsage({ message: `${missing} is missing` })
  })
