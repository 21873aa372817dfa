/**
 * What can be said of a login by looking at it: whose it is, where it comes back to, and what it brings.
 */
import { timingSafeEqual } from "node:crypto"
import type * as CallbackServer from "./CallbackServer.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import type { ClientInfo, Credential, Pending } from "../tokens/Credential.js"

/** Whether it is this login that is kept as begun. */
export const isOf = (record: Credential | undefined, { oauthState }: Pending): boolean =>
  record?.login !== undefined && isSame(record.login.oauthState, oauthState)

/** Whether another process has brought tokens, and nothing is begun any more. */
export const isDoneElsewhere = (
  { before }: { readonly before: string | undefined },
  record: Credential | undefined
): boolean => record?.tokens !== undefined && record.login === undefined && record.tokens.accessToken !== before

/** The client may be one that nobody knows any more: the next login registers anew. */
export const doubting = (record: Credential, { clientInfo }: Pending): Credential =>
  record.clientInfo?.registered === true && record.clientInfo.clientId === clientInfo.clientId
    ? { ...record, clientInfo: { ...record.clientInfo, doubtful: true } }
    : record

/** Somebody who guesses learns nothing from how long it takes. */
export const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Of an address, or of what stands behind its question mark. */
export const paramsOf = (callback: string | URLSearchParams): URLSearchParams => {
  if (typeof callback !== "string") return callback
  const text = callback.trim()
  return new URLSearchParams(text.replace(/^[^?]*\?/, "").replace(/#.*$/s, ""))
}

/** What the config says need not be kept. */
export const withoutConfigured = (client: ClientInfo): ClientInfo => {
  const { clientSecret: _, ...rest } = client
  return client.registered ? client : rest
}

/** Where we can listen ourselves: on this machine, at a port that is named. */
export const placeIn = (redirectUri: string): CallbackServer.Place | undefined => {
  if (!URL.canParse(redirectUri)) return undefined
  const { hostname, pathname, port, protocol } = new URL(redirectUri)
  const host = { localhost: OAuthClients.callbackHost, "127.0.0.1": OAuthClients.callbackHost, "[::1]": "::1" }[
    hostname
  ]
  return protocol !== "http:" || host === undefined ? undefined : { host, port: Number(port || 80), path: pathname }
}
