import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { surroundings } from "../../../config/ConfigHost.js"
import { withoutTrust } from "../../../config/layers/layerSources.js"
import { InvalidConfig } from "../../../domain/Errors.js"
import { excerpt } from "../../../domain/internal/excerpt.js"
import { escapeHidden } from "../../../domain/internal/hiddenCharacters.js"
import { nearest } from "../../../domain/internal/nearest.js"
import { discover } from "../../../daemon/discover.js"
import { ask } from "../../terminal/ask.js"
import { editOptions } from "./editOptions.js"
import { CommandFailed } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import { entryLines } from "../../show/showTrust.js"
import { argument, command, flag, type Input, text } from "../../words/spec.js"
import { ifRunning } from "../../supervisor/withSupervisor.js"

/** A copy of the list in `config`, so that help loads nothing else. A test compares the two. */
export const clients = [
  "opencode",
  "claude-desktop",
  "claude-code",
  "cursor",
  "vscode",
  "windsurf",
  "gemini",
  "codex"
] as const

export const spec = command({
  name: "import",
  summary: "Import the servers of another MCP client",
  details:
    "Finds the config files of the client, converts its servers, and adds those whose names are not in use. Your own servers are written to your global config file. Servers that a file of the project declares (.mcp.json, .cursor/mcp.json, …) are written to the project file and run only after `mcp-supervisor trust`. The files of the client are never changed.",
  group: "configure",
  arguments: {
    client: argument("required", "client", "The client to import from", clients),
    names: argument("many", "name", "Import only these servers. Default: all")
  },
  options: {
    dryRun: flag("Print what would be imported and write nothing"),
    scope: text(
      "SCOPE",
      "A server that a file of the project declares is written to your global config file only after a confirmation on a terminal. The config file to write to, one of",
      ["project", "global"]
    )
  },
  examples: ["import claude-code", "import cursor figma", "import cursor --dry-run"]
})

type Server = ConfigFiles.ImportedServer

interface Added {
  readonly name: string
  readonly from: string
  readonly file: string
  readonly trusted: boolean
}

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const client = clients.find((each) => each === input.client)!
    const host = hostOf(input)
    const found = yield* ConfigFiles.importFrom(client, host)
    const { diagnostics, files, problems } = found
    if (files.length === 0) return yield* new CommandFailed({ message: `no config file of ${client} was found` })
    yield* checkNames(input.names, found)
    const isAsked = (name: string) => input.names.length === 0 || input.names.includes(name)
    const scope = (["project", "global"] as const).find((each) => each === input.scope)
    const located = yield* discover(host)
    const trustedFiles = "daemon" in located ? withoutTrust(located.daemon.sources, surroundings(host)) : []
    const options = { ...editOptions(input), scope, trustedFiles }

    const added: Array<Added> = []
    const failed: Array<string> = []
    const skip = new Map(Object.entries(found.skip).filter(([name]) => isAsked(name)))
    for (const server of found.servers.filter(({ name }) => isAsked(name))) {
      const approved = yield* isApproved(server, options)
      if (approved === "declined") {
        skip.set(server.name, "declined")
        continue
      }
      const written = yield* Effect.either(
        input.dryRun
          ? ConfigFiles.destination(server, { ...options, approved })
          : ConfigFiles.addImported(server, { ...options, approved })
      )
      if (Either.isLeft(written)) failed.push(failureLine(server.name, written.left.message))
      else {
        const { file, trusted } = written.right
        added.push({ name: server.name, from: server.from.at(-1)!, file, trusted })
      }
    }
    const unusable = found.servers.filter(
      ({ issues, name }) => issues.length > 0 && added.some((each) => each.name === name)
    )
    if (input.json)
      yield* screen.json({
        client,
        files,
        added,
        skip: Object.fromEntries(skip),
        failed,
        problems: problems.map((each) => each.message),
        unusable: Object.fromEntries(unusable.map(({ issues, name }) => [name, issues]))
      })
    else for (const each of added) yield* screen.out(lineOf(each, input.dryRun))

    for (const [name, why] of skip) yield* screen.note(`skipped ${name}: ${why}`)
    for (const { message } of diagnostics.filter(({ subject }) => subject === undefined || isAsked(subject)))
      yield* screen.note(message)
    for (const { issues, name } of unusable) {
      const { message } = new InvalidConfig({ server: name, issues })
      yield* screen.note(screen.noteStyle.bad(`${message.replace("invalid config", "does not work yet")}`))
    }
    for (const { message } of problems) yield* screen.note(screen.noteStyle.bad(message))
    if (added.length === 0 && !input.json) yield* screen.note("nothing to import")
    if (added.some(({ trusted }) => !trusted) && !input.dryRun)
      yield* screen.note("servers of the project run only after their approval: mcp-supervisor trust")
    if (!input.dryRun) yield* Effect.ignore(ifRunning(input, (handle) => handle.reload))
    const missed = input.names.filter((name) => skip.has(name))
    if (failed.length > 0) return yield* new CommandFailed({ message: failed.join("\n") })
    if (missed.length > 0) return yield* new CommandFailed({ message: `not added: ${missed.join(", ")}` })
  })

const lineOf = ({ file, from, name, trusted }: Added, isDryRun: boolean): string =>
  `${isDryRun ? "would add" : "added"} ${name} from ${from} to ${file}${trusted ? "" : " (not approved)"}`

/** Adds the server name to a message that does not contain it. */
const failureLine = (name: string, message: string): string =>
  message.startsWith(`${name}: `) || message.includes(`"${name}"`) ? message : `${name}: ${message}`

/** Fails if a requested server does not exist in the client. */
const checkNames = (names: ReadonlyArray<string>, { client, files }: ConfigFiles.Imported) => {
  const known = new Set(files.flatMap(({ servers }) => servers))
  const unknown = names.find((name) => !known.has(name))
  if (unknown === undefined) return Effect.void
  const guess = nearest(unknown, known)
  const advice =
    guess === undefined ? `it has: ${[...known].slice(0, 20).join(", ") || "none"}` : `did you mean ${guess}?`
  return new CommandFailed({ message: `${client} has no server "${excerpt(unknown)}"; ${advice}`, code: 3 })
}

/** Asks before a server of a project file is written to a file that needs no approval. */
const isApproved = (
  server: Server,
  options: { readonly scope?: string | undefined; readonly file?: string | undefined }
) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const isMoved = server.owner === "project" && (options.scope === "global" || options.file !== undefined)
    if (!isMoved || !screen.canAsk) return false
    yield* screen.note(`${server.name} is declared by ${escapeHidden(server.from.at(-1)!)}, a file of this project:`)
    for (const line of entryLines(
      { name: server.name, change: "new", parts: Redacted.value(server.parts) },
      screen.noteStyle
    ))
      yield* screen.note(line)
    const answer = yield* ask({ text: "Allow it to run without an approval of the project? y/n", preset: "n" })
    return /^y(?:es)?$/i.test(answer) ? true : "declined"
  })
