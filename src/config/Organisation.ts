/**
 * The document of an organisation: fetched over HTTP, kept in the state directory, never waited for at the start.
 */
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Issue } from "../domain/Issue.js"
import * as StateFile from "../system/stateFile.js"
import { codeOf } from "../system/wholeFile.js"
import * as Content from "./Content.js"
import * as Files from "./files.js"
import type { Surroundings } from "./Host.js"
import type { Layer } from "./Layer.js"
import { urlOf } from "./openParts.js"
import type { Text } from "./Text.js"

const version = 1

const Kept = Schema.parseJson(
  Schema.Struct({
    version: Schema.Literal(version),
    url: Schema.String,
    /** Milliseconds since 1970. */
    fetchedAt: Schema.Number,
    text: Schema.String
  })
)

const maxBytes = 1024 * 1024

/** A character of it may take several where it is kept. */
const maxKept = 8 * maxBytes

/** How long an answer may take. */
const budget = "5 seconds"

export const fileIn = (stateDir: string): string => join(stateDir, "organisation.json")

/** The address of the document, if there is one to be asked for. Without a path, where such documents are by convention. */
export const addressOf = ({ env }: Pick<Surroundings, "env">): Option.Option<string> => {
  const given = env.MCP_SUPERVISOR_DEFAULTS_URL ?? ""
  if (!URL.canParse(given)) return Option.none()
  const url = new URL(given)
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback)) return Option.none()
  if (url.pathname === "/") url.pathname = "/.well-known/mcp-supervisor"
  return Option.some(url.href)
}

/** The copy of the last time, if it is of the same address. */
export const kept = (surroundings: Surroundings): Effect.Effect<Option.Option<string>> =>
  Effect.gen(function* () {
    const url = yield* addressOf(surroundings)
    const found = yield* Files.readText(fileIn(surroundings.stateDir), maxKept)
    if (found._tag !== "Found") return Option.none()
    const copy = yield* Schema.decode(Kept)(found.text)
    return copy.url === url ? Option.some(copy.text) : Option.none()
  }).pipe(Effect.orElseSucceed(() => Option.none()))

/** The document as a layer, and what it says. */
export const layerOf = (
  { cwd }: Pick<Surroundings, "cwd">,
  url: string,
  document: string
): { readonly layer: Layer; readonly content: Either.Either<Content.Content, ReadonlyArray<Issue>> } => {
  // the rest of an address may hold a password, and a part of its path a key
  const { origin, pathname } = new URL(url)
  const name = urlOf(`${origin}${pathname}`)
  const text: Text = { name, format: "json", text: document }
  const layer: Layer = { kind: "organisation", name, directory: cwd, text }
  return { layer, content: Content.read(layer, text) }
}

/** Asks for the document and keeps it. Whether there is one; whatever goes wrong is a word in the log. */
export const refresh = (surroundings: Surroundings): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const url = yield* addressOf(surroundings)
    const text = yield* fetchText(url)
    // what a proxy or a login page says instead must not replace what was there
    const { content } = layerOf(surroundings, url, text)
    if (!isDocument(text) || Either.isLeft(content)) return yield* Effect.fail("no such document")
    const file = fileIn(surroundings.stateDir)
    const before = yield* StateFile.read(file, maxKept)
    if (before._tag === "Newer") return yield* Effect.fail("a newer version of this program keeps it")
    const copy = { version, url, fetchedAt: yield* Clock.currentTimeMillis, text } as const
    yield* StateFile.write(file, yield* Schema.encode(Kept)(copy))
    return true
  }).pipe(
    Effect.catchAll((error) =>
      Effect.as(
        typeof error === "string"
          ? Effect.logWarning("mcp.config.organisation").pipe(Effect.annotateLogs("reason", error))
          : Effect.void,
        false
      )
    )
  )

const isDocument = (text: string): boolean => {
  try {
    return Predicate.isRecord(JSON.parse(text))
  } catch {
    return false
  }
}

const fetchText = (url: string): Effect.Effect<string, string> =>
  Effect.tryPromise({
    try: async (signal) => {
      // only who has such a document needs it
      const { EnvHttpProxyAgent, request } = await import("undici")
      const dispatcher = new EnvHttpProxyAgent()
      try {
        const { body, statusCode } = await request(url, { dispatcher, signal, headers: { accept: "application/json" } })
        if (statusCode !== 200) {
          await body.dump()
          throw new Refused(`status ${statusCode}`)
        }
        return await bounded(body)
      } finally {
        await dispatcher.destroy()
      }
    },
    catch: (error) => (error instanceof Refused ? error.message : codeOf(error))
  }).pipe(Effect.timeoutFail({ duration: budget, onTimeout: () => "no answer in time" }))

class Refused extends Error {}

const bounded = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new Refused("too large")
    chunks.push(chunk)
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))
}
