/**
 * Builds the config entry of a new server from the options and arguments of `add`.
 */
import type * as ServerConfig from "../../domain/server/ServerConfig.js"
import { kindOfType } from "../../domain/server/ServerConfig/serverTypes.js"
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

/** The entry, or why the words are invalid. `Incomplete` means that they contain neither a command nor a URL. */
export type NewEntry =
  | { readonly _tag: "Entry"; readonly entry: ServerConfig.Input }
  | { readonly _tag: "Invalid"; readonly message: string }
  | { readonly _tag: "Incomplete" }

const invalid = (message: string): NewEntry => ({ _tag: "Invalid", message })

export const entryOf = (words: Words): NewEntry => {
  const { args, command, rest, url } = words
  const targets = [url !== undefined, command !== undefined, rest.length > 0].filter(Boolean).length
  if (targets > 1) return invalid("use only one of --url, --command and -- command…")
  if (args.length > 0 && command === undefined) return invalid("--args requires --command")
  const env = pairs(words.env)
  if (env._tag === "NotAPair")
    return invalid(`--env "${excerpt(env.word.replace(/=.*$/s, ""))}" is not a variable: write KEY=VALUE`)
  if (env._tag === "Duplicate") return invalid(`--env ${excerpt(env.key)} is set twice`)
  const headers = pairs(words.header.map(headerPair), (name) => name.toLowerCase())
  if (headers._tag === "NotAPair") return invalid("write --header as NAME=VALUE or 'NAME: VALUE'")
  if (headers._tag === "Duplicate") return invalid(`--header ${excerpt(headers.key)} is set twice`)
  if (targets === 0) return { _tag: "Incomplete" }
  if (url !== undefined) return remote(words, url, headers.values)
  if (words.header.length > 0) return invalid("--header requires --url")
  if (hasOauth(words)) return invalid("--oauth requires --url")
  if (words.transport !== undefined && kindOfType(words.transport) !== "local")
    return invalid(`--transport ${words.transport} requires --url`)
  if (command !== undefined && args.length === 0 && isLine(command)) {
    return invalid(
      "--command takes only the program: write its arguments after --args, or the whole command line after --"
    )
  }
  const line = command === undefined ? rest : [command, ...args]
  const environment = words.env.length === 0 ? {} : { environment: env.values }
  return { _tag: "Entry", entry: { type: "local", command: line as [string, ...Array<string>], ...environment } }
}

/** Whether the text is a command line such as `npx -y server`, and not the path of a program with spaces in it. */
const isLine = (command: string): boolean => /^[^\s/\\]+\s/.test(command)

/** Splits a typed line into words. Quoted spaces do not split. */
export const lineWords = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/"([^"]*)"|'([^']*)'|\S+/g), ([word, double, single]) => double ?? single ?? word)

/** Accepts `NAME: VALUE`, as in HTTP, besides `NAME=VALUE`. */
const headerPair = (text: string): string => text.replace(/^([^:=\s]+):\s*/, "$1=")

const hasOauth = (words: Words): boolean =>
  words.oauth ||
  words.noOauth ||
  [words.oauthClientId, words.oauthClientSecret, words.oauthScope].some((each) => each !== undefined)

const remote = (words: Words, url: string, headers: Readonly<Record<string, string>>): NewEntry => {
  if (words.env.length > 0) return invalid("--env requires a command, not --url")
  if (kindOfType(words.transport) === "local")
    return invalid(`--transport ${words.transport} requires a command, not --url`)
  const details = {
    ...(words.oauthClientId === undefined ? {} : { clientId: words.oauthClientId }),
    ...(words.oauthClientSecret === undefined ? {} : { clientSecret: words.oauthClientSecret }),
    ...(words.oauthScope === undefined ? {} : { scope: words.oauthScope })
  }
  const usesOauth = words.oauth || Object.keys(details).length > 0
  if (words.noOauth && usesOauth) return invalid("use only one of --oauth and --no-oauth")
  const oauth = words.noOauth ? { oauth: false as const } : usesOauth ? { oauth: details } : {}
  const kind = words.transport ?? "remote"
  const headerPart = words.header.length === 0 ? {} : { headers }
  return { _tag: "Entry", entry: { type: kind, url, ...headerPart, ...oauth } as ServerConfig.Input }
}
