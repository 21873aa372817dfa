/**
 * What a login asks to be allowed. A scope is a text of words; the words are a set.
 */
import * as Secrets from "../../domain/Secrets.js"

const words = (scope: string | undefined): ReadonlyArray<string> =>
  (scope ?? "").split(/\s+/).filter((word) => word !== "")

const join = (all: ReadonlyArray<string>): string | undefined => (all.length === 0 ? undefined : all.join(" "))

/** All words of all scopes, each once. */
export const union = (...scopes: ReadonlyArray<string | undefined>): string | undefined =>
  join([...new Set(scopes.flatMap(words))])

/** A server may send anything: more words than these, or longer ones, are no scope. */
const maxWords = 100
const word = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** What a server asks for, as far as it can be meant (RFC 6749 §3.3). A word with a secret in it is an echo of ours. */
export const askedFor = (scope: string | undefined, secrets: Secrets.Secrets = Secrets.empty): string | undefined => {
  const scrub = Secrets.scrub(secrets)
  return join(
    words(scope)
      .filter((each) => word.test(each) && scrub(each) === each)
      .slice(0, maxWords)
  )
}

/** Whether the one allows everything that the other asks for. */
export const covers = (granted: string | undefined, wanted: string | undefined): boolean => {
  const allowed = new Set(words(granted))
  return words(wanted).every((word) => allowed.has(word))
}

/**
 * What the server asks for, and what the config does; else all that the server knows. With `offline_access` where the
 * authorization server has it: without it, some give no refresh token.
 */
export const select = (options: {
  readonly configured?: string | undefined
  /** From a refusal. */
  readonly challenged?: string | undefined
  /** What the login there is allows already: a wider one must not allow less. */
  readonly granted?: string | undefined
  /** From the server's own description. */
  readonly supported?: unknown
  /** From the authorization server's own description. */
  readonly known?: unknown
}): string | undefined => {
  const { challenged, configured, granted, known, supported } = options
  const asked = union(configured, challenged) ?? union(texts(supported).join(" "))
  const scope = union(granted, asked)
  const isOffline = scope !== undefined && texts(known).includes("offline_access")
  return isOffline ? union(scope, "offline_access") : scope
}

const texts = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : []
