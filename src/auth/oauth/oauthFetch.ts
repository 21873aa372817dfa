/**
 * `fetch` over our own HTTP client, for the SDK: the same proxies and certificates as for everything else, and bounds for
 * servers that take their time or have too much to say.
 */
import type { FetchLike } from "@modelcontextprotocol/client"
import * as ByteBuffer from "../../connection/wire/ByteBuffer.js"
import type { HttpClient, HttpRequest } from "../../connection/http/HttpClient.js"
import { AddressRefused } from "../../connection/http/OutboundGuard.js"

/** Milliseconds one answer may take, unless somebody says otherwise. */
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
        // the SDK knows an error of the network by its type; a refusal of ours is none
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
          // an answer of these kinds has no body, and the constructor insists on it
          const body = [204, 205, 304].includes(status) ? null : read.take()
          headers.delete("content-encoding")
          try {
            resolve(new Response(body, { status, headers }))
          } catch {
            // a status that there is not
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
