/**
 * Operations on OAuth scopes: a scope is a text of words, which form a set.
 */
import * as Secrets from "../../domain/Secrets.js"

const words = (scope: string | undefined): ReadonlyArray<string> =>
  (scope ?? "").split(/\s+/).filter((word) => word !== "")

const join = (all: ReadonlyArray<string>): string | undefined => (all.length === 0 ? undefined : all.join(" "))

/** All words of all scopes, each once. */
export const union = (...scopes: ReadonlyArray<string | undefined>): string | undefined =>
  join([...new Set(scopes.flatMap(words))])

/** A server may send anything: longer words are ignored, and so are words beyond this number. */
const maxWords = 100
const word = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/**
 * The valid words of a requested scope (RFC 6749 §3.3). A word that contains a secret is dropped: the server repeats
 * it.
 */
export const askedFor = (scope: string | undefined, secrets: Secrets.Secrets = Secrets.empty): string | undefined => {
  const scrub = Secrets.scrub(secrets)
  return join(
    words(scope)
      .filter((each) => word.test(each) && scrub(each) === each)
      .slice(0, maxWords)
  )
}

/** Whether the first scope contains every word of the second. */
export const covers = (granted: string | undefined, wanted: string | undefined): boolean => {
  const allowed = new Set(words(granted))
  return words(wanted).every((word) => allowed.has(word))
}

/**
 * The scope of a login: what config and server request, else all that the server supports. Adds `offline_access` if the
 * authorization server supports it: without it, some return no refresh token.
 */
export const select = (options: {
  readonly configured?: string | undefined
  /** From the response that rejected a request. */
  readonly challenged?: string | undefined
  /** The scope of the current login: a new login must not have less. */
  readonly granted?: string | undefined
  /** From the metadata of the server. */
  readonly supported?: unknown
  /** From the metadata of the authorization server. */
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
