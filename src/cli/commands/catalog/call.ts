import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { maxArgumentsDepth } from "../../../control/server/body.js"
import { isDeeper } from "../../../domain/internal/isDeeper.js"
import * as ToolName from "../../../domain/catalog/ToolName.js"
import { WrongUsage } from "../../failure.js"
import type { HandleFailure, SupervisorHandle, ToolRef } from "../../supervisor/SupervisorHandle.js"
import { Screen } from "../../terminal/Screen.js"
import { resultText } from "../../show/showCatalog.js"
import { argument, command, type Input } from "../../words/spec.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "call",
  summary: "Call a tool",
  details:
    "The arguments are one JSON object; with -, it is read from stdin. The exit code is 1 if the tool reports an error, 2 if the arguments are invalid, and 3 if the server is unknown or not usable.",
  group: "use",
  arguments: {
    tool: argument("required", "tool", "The public name of the tool, or server/tool"),
    args: { ...argument("optional", "json-args", "The arguments as one JSON object, or - for stdin"), mayBeEmpty: true }
  },
  options: {},
  examples: [
    `call greet_greet '{"name":"Ada"}'`,
    `call greet/greet '{"name":"Ada"}' --json`,
    "call search/query - < args.json"
  ]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const args = yield* parsed(input.args)
    const refs = toolRefs(input.tool)
    let doing = `calling ${input.tool}`
    const onProgress = ({ message, progress, total }: Progress) =>
      Effect.sync(() => {
        const share = total === undefined ? String(progress) : `${Math.round((progress / total) * 100)} %`
        doing = `${input.tool}: ${[message, share].filter(Predicate.isNotUndefined).join(" ")}`
      })
    return yield* withSupervisor(input, { only: (name) => refs.some((ref) => mayBelongTo(ref, name)) }, (handle) =>
      Effect.gen(function* () {
        const tool = yield* resolve(handle, refs)
        const result = yield* screen.busy(() => doing, handle.call(tool, args, onProgress))
        const code = result.isError === true ? 1 : 0
        if (input.json) return yield* Effect.as(screen.json(result), code)
        const text = resultText(result)
        if (text !== "") yield* screen.out(text)
        if (code !== 0) yield* screen.note(screen.noteStyle.bad(`${input.tool} reported an error`))
        return code
      })
    )
  })

interface Progress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

type Refs = readonly [ToolRef, ...ReadonlyArray<ToolRef>]

/**
 * Lists the tools that a word may name. `server/tool` names the server and its tool; anything else is a public name. Names may
 * contain slashes, so there may be several readings, the one with the shortest server name first.
 */
export const toolRefs = (word: string): Refs => {
  const slashes = Array.from(word.matchAll(/(?<!^)\//g), ({ index }) => index)
  const [first, ...others] = slashes.map((at) => ({ server: word.slice(0, at), name: word.slice(at + 1) }))
  return first === undefined ? [{ name: word }] : [first, ...others]
}

/** Chooses the reading whose server exists; among several, the one with the longest server name. */
const resolve = (handle: SupervisorHandle, refs: Refs): Effect.Effect<ToolRef, HandleFailure> => {
  if (refs.length === 1) return Effect.succeed(refs[0])
  return Effect.map(handle.servers, (servers) => {
    const names = new Set(servers.map(({ name }) => name))
    return refs.findLast(({ server }) => server !== undefined && names.has(server)) ?? refs[0]
  })
}

/** Whether the tool may belong to the server. A public name begins with the server name, which may be shortened or changed. */
const mayBelongTo = ({ name, server }: ToolRef, candidate: string): boolean =>
  server === undefined
    ? name.startsWith(`${candidate.replace(/[^A-Za-z0-9_-]/g, "_")}_`) || ToolName.mayBelongTo(name, candidate)
    : server === candidate

const parsed = (text: string | undefined) =>
  Effect.gen(function* () {
    const given = text === "-" ? yield* stdin() : text
    if (given === undefined || given.trim() === "") return {}
    const wrong = new WrongUsage({ message: `the arguments must be one JSON object, such as '{"name":"Ada"}'` })
    const value = yield* Effect.try({ try: (): unknown => JSON.parse(given), catch: () => wrong })
    if (!Predicate.isRecord(value)) return yield* wrong
    if (!isDeeper(value, maxArgumentsDepth)) return value
    return yield* new WrongUsage({
      message: `the arguments are nested too deeply: at most ${maxArgumentsDepth} levels`
    })
  })

const stdin = () =>
  Effect.tryPromise({
    try: async () => {
      const chunks: Array<Buffer> = []
      for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
      return Buffer.concat(chunks).toString("utf8")
    },
    catch: () => new WrongUsage({ message: "stdin cannot be read" })
  })
