/** Servers that close their connection before their response is read. */
import { createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as HttpClient from "../../../src/connection/http/HttpClient.js"

const text = "x".repeat(300_000)
/** Numbers, which do not compress well. */
const zipped = gzipSync(Array.from({ length: 80_000 }, (_, at) => `${(at * 7919) % 10_007}`).join())

const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")])

const plain = Buffer.from(text)

/** All ways to mark the end of a body, with the bytes that are sent. */
const framings: Readonly<Record<string, { readonly headers: ReadonlyArray<string>; readonly body: Buffer }>> = {
  "content-length": { headers: [`content-length: ${plain.length}`, "connection: close"], body: plain },
  "content-length, said to stay open": { headers: [`content-length: ${plain.length}`], body: plain },
  chunked: { headers: ["transfer-encoding: chunked", "connection: close"], body: chunked(plain) },
  "the end of the connection": { headers: [], body: plain },
  compressed: {
    headers: ["content-encoding: gzip", `content-length: ${zipped.length}`, "connection: close"],
    body: zipped
  }
}

const serving = (answer: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: URL; readonly close: Effect.Effect<void> }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => {}).once("data", () => answer(socket))
      })
      const close = Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({ url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), close }))
      )
    }),
    ({ close }) => close
  )

/** Reads one response, and pauses for some turns of the event loop after every chunk. */
const readSlowly = (client: HttpClient.HttpClient, url: URL, turns: number) =>
  Effect.async<number, Error>((resume) => {
    let read = 0
    let flow: { readonly pause: () => void; readonly resume: () => void } | undefined
    const after = (left: number) => (left === 0 ? flow?.resume() : void setImmediate(after, left - 1))
    const abort = client.request(
      { method: "GET", url, headers: {} },
      {
        head: (_status, _headers, given) => {
          flow = given
        },
        data: (chunk) => {
          read += chunk.length
          flow?.pause()
          after(turns)
        },
        end: () => resume(Effect.succeed(read)),
        error: (error) => resume(Effect.fail(error))
      }
    )
    return Effect.sync(abort)
  })

describe("a connection that its server closes while the response is read", () => {
  for (const [name, { body, headers }] of Object.entries(framings)) {
    for (const turns of [0, 1, 50]) {
      it.scopedLive(`returns the whole body: ${name}, ${turns} turns`, () =>
        Effect.gen(function* () {
          const { url } = yield* serving((socket) =>
            socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${headers.join("\r\n")}\r\n\r\n`), body]))
          )
          const { client } = yield* HttpClient.pool
          const read = yield* readSlowly(yield* client("it", undefined), url, turns)
          assert.isAtLeast(read, plain.length)
        })
      )
    }
  }

  it.scopedLive("fails if the body is incomplete", () =>
    Effect.gen(function* () {
      const { url } = yield* serving((socket) =>
        socket.end(Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 400000\r\n\r\n"), plain]))
      )
      const { client } = yield* HttpClient.pool
      const error = yield* Effect.flip(readSlowly(yield* client("it", undefined), url, 50))
      assert.instanceOf(error, Error)
    })
  )

  it.scopedLive("can be aborted while it is paused, also with the whole pool", () =>
    Effect.gen(function* () {
      const { url } = yield* serving((socket) =>
        socket.end(Buffer.concat([Buffer.from("HTTP/1.0 200 OK\r\n\r\n"), plain]))
      )
      for (const end of ["exchange", "pool"]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { client } = yield* HttpClient.pool
            const own = yield* client("it", undefined)
            yield* Effect.async<void>((resume) => {
              let flow: { readonly pause: () => void } | undefined
              const abort = own.request(
                { method: "GET", url, headers: {} },
                {
                  head: (_status, _headers, given) => {
                    flow = given
                  },
                  data: () => {
                    flow?.pause()
                    setTimeout(() => {
                      if (end === "exchange") abort()
                      resume(Effect.void)
                    }, 50)
                  },
                  end: () => {},
                  error: () => {}
                }
              )
            })
          })
        )
      }
    })
  )
})
