/**
 * A config entry from the words of a command.
 */
import type * as ServerConfig from "../../domain/server/ServerConfig.js"
import { excerpt } from "../../domain/internal/excerpt.js"
import { pairs } from "./pairs.js"

export interface Words {
  readonly url: string | undefined
  readonly command: string | undefined
  readonly args: ReadonlyArray<string>
  readonly rest: ReadonlyArray<string>
  readonly env: ReadonlyArray<string>
  readonly header: ReadonlyArray<string>
  readonly transport: string | undefined
  readonly oauth: boolean
  readonly noOauth: boolean
  readonly oauthClientId: string | undefined
  readonly oauthClientSecret: string | undefined
  readonly oauthScope: string | undefined
}

/** The entry; what is wrong with the words; or that they do not say what to run or where to dial. */
export type Made =
  | { readonly _tag: "Entry"; readonly entry: ServerConfig.Input }
  | { readonly _tag: "Wrong"; readonly message: string }
  | { readonly _tag: "Open" }

const wrong = (message: string): Made => ({ _tag: "Wrong", message })

export const entryOf = (words: Words): Made => {
  const { args, command, rest, url } = words
  const ways = [url !== undefined, command !== undefined, rest.length > 0].filter(Boolean).length
  if (ways > 1) return wrong("give one of --url, --command and -- command…")
  if (args.length > 0 && command === undefined) return wrong("--args goes with --command")
  const env = pairs(words.env)
  if (env._tag === "NoPair")
    return wrong(`--env "${excerpt(env.word.replace(/=.*$/s, ""))}" is no variable: write KEY=VALUE`)
  if (env._tag === "Twice") return wrong(`--env ${excerpt(env.key)} is given twice`)
  const headers = pairs(words.header.map(headerPair), (name) => name.toLowerCase())
  if (headers._tag === "NoPair") return wrong("a --header is written NAME=VALUE or 'NAME: VALUE'")
  if (headers._tag === "Twice") return wrong(`--header ${excerpt(headers.key)} is given twice`)
  if (ways === 0) return { _tag: "Open" }
  if (url !== undefined) return remote(words, url, headers.values)
  if (words.header.length > 0) return wrong("--header is for servers with a --url")
  if (hasOauth(words)) return wrong("--oauth is for servers with a --url")
  if (words.transport !== undefined && words.transport !== "stdio")
    return wrong(`--transport ${words.transport} needs a --url`)
  if (command !== undefined && args.length === 0 && isLine(command)) {
    return wrong("--command is the program alone: write its arguments after --args, or all of it after --")
  }
  const line = command === undefined ? rest : [command, ...args]
  const environment = words.env.length === 0 ? {} : { environment: env.values }
  return { _tag: "Entry", entry: { type: "local", command: line as [string, ...Array<string>], ...environment } }
}

/** Such as `npx -y server`. What begins with a directory is a path, spaces and all. */
const isLine = (command: string): boolean => /^[^\s/\\]+\s/.test(command)

/** The words of a line that somebody typed; quotes keep spaces together. */
export const lineWords = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/"([^"]*)"|'([^']*)'|\S+/g), ([word, double, single]) => double ?? single ?? word)

/** As in HTTP, or as in a shell. */
const headerPair = (text: string): string => text.replace(/^([^:=\s]+):\s*/, "$1=")

const hasOauth = (words: Words): boolean =>
  words.oauth ||
  words.noOauth ||
  [words.oauthClientId, words.oauthClientSecret, words.oauthScope].some((each) => each !== undefined)

const remote = (words: Words, url: string, headers: Readonly<Record<string, string>>): Made => {
  if (words.env.length > 0) return wrong("--env is for servers with a command")
  if (words.transport === "stdio") return wrong("--transport stdio is for servers with a command")
  const details = {
    ...(words.oauthClientId === undefined ? {} : { clientId: words.oauthClientId }),
    ...(words.oauthClientSecret === undefined ? {} : { clientSecret: words.oauthClientSecret }),
    ...(words.oauthScope === undefined ? {} : { scope: words.oauthScope })
  }
  const wanted = words.oauth || Object.keys(details).length > 0
  if (words.noOauth && wanted) return wrong("give one of --oauth and --no-oauth")
  const oauth = words.noOauth ? { oauth: false as const } : wanted ? { oauth: details } : {}
  const kind = words.transport === undefined ? "remote" : words.transport
  const given = words.header.length === 0 ? {} : { headers }
  return { _tag: "Entry", entry: { type: kind, url, ...given, ...oauth } as ServerConfig.Input }
}
