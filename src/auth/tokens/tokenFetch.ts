/**
 * `fetch` for the token endpoint: what its answers mean, where the SDK would take them at their word.
 */
import type { FetchLike } from "@modelcontextprotocol/client"
import * as Predicate from "effect/Predicate"
import { unavailable } from "../oauth/OAuthFailure.js"

/** Seconds. Nobody means more, and dates end somewhere. */
const longestLife = 10 * 365 * 24 * 60 * 60

export const tokenFetch =
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const answer = await fetch(url, init)
    const { headers, ok, status } = answer
    // whoever is in trouble has decided nothing, whatever the body says
    if (status >= 500 || status === 429) {
      throw unavailable(`the authorization server is not available (HTTP ${status})`)
    }
    if (!ok) return answer
    const text = await answer.text()
    return new Response(text === "" ? null : tidy(text), { status, headers })
  }

/** Fields that say nothing are left out: no lifetime is an unknown one, no refresh token leaves the one there is. */
const tidy = (text: string): string => {
  const fields = parse(text)
  if (!Predicate.isRecord(fields)) return text
  const said = Object.entries(fields).filter(([, value]) => value !== null && value !== "")
  const { expires_in, ...rest } = Object.fromEntries(said)
  const seconds = Number(expires_in)
  const isKnown = Number.isFinite(seconds) && seconds > 0
  return JSON.stringify(isKnown ? { ...rest, expires_in: Math.min(seconds, longestLife) } : rest)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
