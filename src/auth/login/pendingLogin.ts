/**
 * Answers questions about pending logins and their callbacks, without I/O.
 */
import { timingSafeEqual } from "node:crypto"
import type { Credential, PendingLogin } from "../tokens/Credential.js"

/** Whether this login is the stored pending login. */
export const isPendingIn = (record: Credential | undefined, { oauthState }: PendingLogin): boolean =>
  record?.login !== undefined && isEqualState(record.login.oauthState, oauthState)

/** Whether another process has stored new tokens since the login started, and no login is pending. */
export const isCompletedElsewhere = (
  { tokenBefore }: { readonly tokenBefore: string | undefined },
  record: Credential | undefined
): boolean => record?.tokens !== undefined && record.login === undefined && record.tokens.accessToken !== tokenBefore

/** Marks the client if it was registered automatically: the authorization server may not know it, and the next login registers another. */
export const markClientDoubtful = (record: Credential, { clientInfo }: PendingLogin): Credential =>
  record.clientInfo?.registered === true && record.clientInfo.clientId === clientInfo.clientId
    ? { ...record, clientInfo: { ...record.clientInfo, doubtful: true } }
    : record

/** Compares in constant time, so that the time of a response reveals nothing about the expected state. */
export const isEqualState = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The parameters of a callback, given as a URL or as its query. */
export const callbackParams = (callback: string | URLSearchParams): URLSearchParams => {
  if (typeof callback !== "string") return callback
  const text = callback.trim()
  return new URLSearchParams(text.replace(/^[^?]*\?/, "").replace(/#.*$/s, ""))
}
