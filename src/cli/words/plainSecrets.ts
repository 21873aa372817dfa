/**
 * Finds secrets that `add` received as plain text, and replaces them by variables. A project file is shared with all users of the
 * project, so a secret must not be written to it.
 */
import type * as ServerConfig from "../../domain/server/ServerConfig.js"
import { isMadeOfWords } from "../../domain/internal/looksLikeName.js"
import * as Secrets from "../../domain/Secrets.js"
import { shellWord } from "../../domain/internal/shellWord.js"

export interface PlainSecret {
  /** The option that contains the secret, such as `--env TOKEN`. */
  readonly option: string
  /** The name of a variable for the secret. */
  readonly variable: string
  /** The text that replaces the secret. */
  readonly replacement: string
}

type Texts = Readonly<Record<string, string>>

/** The keys of an entry that may contain secrets. Every entry that `add` builds has this shape. */
interface Fields {
  readonly command?: ReadonlyArray<string>
  readonly environment?: Texts
  readonly url?: string
  readonly type?: string
  readonly headers?: Texts
  readonly oauth?: false | Readonly<Record<string, string>>
}

const isVariable = (value: string): boolean => /\{(?:env|file):|\$\{/.test(value)

const isSecret = (name: string, value: string): boolean =>
  value !== "" && !isVariable(value) && (Secrets.isSensitiveFlag(name) || !isMadeOfWords(value))

const sensitiveHeader = /^(?:authorization|proxy-authorization|cookie)$/i

const asVariable = (...words: ReadonlyArray<string>): string =>
  words
    .join("_")
    .toUpperCase()
    .replace(/[^A-Z\d]+/g, "_")
    .replace(/^(?=\d)|^_+|_+$/g, "")

/** Returns the entry with a variable in place of each secret, and the secrets that were found. */
export const withVariables = (
  server: string,
  entry: ServerConfig.Input
): { readonly entry: ServerConfig.Input; readonly found: ReadonlyArray<PlainSecret> } => {
  const { command, environment, headers, oauth } = entry as Fields
  const found: Array<PlainSecret> = []
  const name = (option: string, variable: string, prefix = ""): string => {
    const replacement = `${prefix}{env:${variable}}`
    found.push({ option, variable, replacement })
    return replacement
  }
  const change = (texts: Texts, replace: (key: string, value: string) => string | undefined): Texts =>
    Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, replace(key, value) ?? value]))
  const changed = {
    ...entry,
    ...(command && {
      command: command.map((word, index) => {
        const [, flag = "", value] = /^--?([^=\s]+)(?:=(.*))?$/s.exec(word) ?? []
        if (value !== undefined && value !== "" && Secrets.isSensitiveFlag(flag) && !isVariable(value))
          return `${word.slice(0, word.indexOf("=") + 1)}${name(`--${flag}`, asVariable(server, flag))}`
        const [, before = ""] = /^--?([^=\s]+)$/.exec(command[index - 1] ?? "") ?? []
        const isValue = Secrets.isSensitiveFlag(before) && !word.startsWith("-") && !isVariable(word)
        return isValue ? name(`--${before}`, asVariable(server, before)) : word
      })
    }),
    ...(environment && {
      environment: change(environment, (key, value) => (isSecret(key, value) ? name(`--env ${key}`, key) : undefined))
    }),
    ...(headers && {
      headers: change(headers, (key, value) => {
        if (isVariable(value) || !(sensitiveHeader.test(key) || isSecret(key, value))) return undefined
        const [scheme = ""] = /^(?:bearer|basic|token)\s+/i.exec(value) ?? []
        const word = sensitiveHeader.test(key) ? "token" : key
        return name(`--header ${key}`, asVariable(server, word), scheme)
      })
    }),
    ...(typeof oauth === "object" && {
      oauth: change(oauth, (key, value) =>
        key === "clientSecret" && !isVariable(value)
          ? name("--oauth-client-secret", asVariable(server, "client_secret"))
          : undefined
      )
    })
  }
  return { entry: changed as ServerConfig.Input, found }
}

/** Renders the shell command that adds an entry to the project file. */
export const addCommand = (server: string, entry: ServerConfig.Input): string => {
  const { command = [], environment = {}, headers = {}, oauth, type, url } = entry as Fields
  const pairs = (option: string, texts: Texts) =>
    Object.entries(texts).flatMap(([key, value]) => [option, `${key}=${value}`])
  const login = { clientId: "--oauth-client-id", clientSecret: "--oauth-client-secret", scope: "--oauth-scope" }
  const words = [
    "mcp-supervisor",
    "add",
    server,
    "--scope",
    "project",
    // A URL that contains a password is not printed.
    ...(url === undefined ? [] : ["--url", Secrets.make(Secrets.ofUrl(url)).values.length === 0 ? url : "…"]),
    ...(url === undefined || type === undefined || type === "remote" ? [] : ["--transport", type]),
    ...pairs("--env", environment),
    ...pairs("--header", headers),
    ...(oauth === false ? ["--no-oauth"] : oauth === undefined ? [] : ["--oauth"]),
    ...Object.entries(oauth || {}).flatMap(([key, value]) => [login[key as keyof typeof login], value]),
    ...(url === undefined ? ["--", ...command] : [])
  ]
  return words.map(shellWord).join(" ")
}
