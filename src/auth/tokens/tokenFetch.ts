/**
 * Wraps `fetch` for the token endpoint, and corrects responses that the SDK would misinterpret.
 */
import type { FetchLike } from "@modelcontextprotocol/client"
import * as Predicate from "effect/Predicate"
import { unavailable } from "../oauth/OAuthFailure.js"

/** Seconds. Keeps the time of expiry within the range of a date. */
const longestLifetime = 10 * 365 * 24 * 60 * 60

export const tokenFetch =
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init)
    const { headers, ok, status } = response
    // A 5xx or 429 response says nothing about the token, whatever its body claims.
    if (status >= 500 || status === 429) {
      throw unavailable(`the authorization server is not available (HTTP ${status})`)
    }
    if (!ok) return response
    const text = await response.text()
    return new Response(text === "" ? null : withoutEmptyFields(text), { status, headers })
  }

/** Removes empty fields and an invalid lifetime: the lifetime is unknown then, and the current refresh token stays. */
const withoutEmptyFields = (text: string): string => {
  const fields = parse(text)
  if (!Predicate.isRecord(fields)) return text
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== "")
  const { expires_in, ...rest } = Object.fromEntries(present)
  const seconds = Number(expires_in)
  const isKnown = Number.isFinite(seconds) && seconds > 0
  return JSON.stringify(isKnown ? { ...rest, expires_in: Math.min(seconds, longestLifetime) } : rest)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
