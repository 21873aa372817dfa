/**
 * A `fetch` for the SDK, over the HTTP client of this package. It uses the same proxies and certificates, and limits
 * time and size of a response.
 */
import type { FetchLike } from "@modelcontextprotocol/client"
import * as ByteBuffer from "../../connection/wire/ByteBuffer.js"
import type { HttpClient, HttpRequest } from "../../connection/http/HttpClient.js"
import { AddressRefused } from "../../connection/http/OutboundGuard.js"

/** The default time limit of a response, in milliseconds. */
const longest = 20_000

const maxBytes = 1024 * 1024

export const make =
  (client: HttpClient, userAgent: string, timeout = longest): FetchLike =>
  (url, init = {}) =>
    new Promise((resolve, reject) => {
      const read = ByteBuffer.make()
      let head: { readonly status: number; readonly headers: Headers } | undefined
      const fail = (cause: unknown) => {
        clearTimeout(timer)
        abort()
        // The SDK recognises a network error by its type; `AddressRefused` is not one.
        reject(cause instanceof AddressRefused ? cause : new TypeError("fetch failed", { cause }))
      }
      const timer = setTimeout(() => fail(coded("ETIMEDOUT")), timeout)
      const abort = client.request(requestOf(url, init, userAgent), {
        head: (status, headers) => {
          head = { status, headers: new Headers() }
          for (const [name, value] of Object.entries(headers)) {
            for (const each of [value].flat()) if (each !== undefined) head.headers.append(name, each)
          }
        },
        data: (chunk) => {
          read.add(chunk)
          if (read.size() > maxBytes) fail(coded("EMSGSIZE"))
        },
        end: () => {
          clearTimeout(timer)
          const { headers, status } = head ?? { status: 502, headers: new Headers() }
          // The constructor rejects a body for these statuses.
          const body = [204, 205, 304].includes(status) ? null : read.take()
          headers.delete("content-encoding")
          try {
            resolve(new Response(body, { status, headers }))
          } catch {
            // The status is outside of the valid range.
            fail(coded("EPROTO"))
          }
        },
        error: fail
      })
    })

const coded = (code: string) => Object.assign(new Error(code), { code })

const requestOf = (url: string | URL, init: RequestInit, userAgent: string): HttpRequest => ({
  method: init.method === "POST" ? "POST" : "GET",
  url: new URL(url),
  headers: { "user-agent": userAgent, ...Object.fromEntries(new Headers(init.headers).entries()) },
  body: init.body === undefined || init.body === null ? undefined : String(init.body)
})
