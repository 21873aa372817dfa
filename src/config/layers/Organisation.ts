/**
 * Fetches an organisation's document in the background and stores it in the state directory. A start uses the stored copy.
 */
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type { Issue } from "../../domain/Issue.js"
import { isLoopback } from "../../domain/NetworkAddress.js"
import * as Environment from "../../system/environment.js"
import * as StateFile from "../../system/files/stateFile.js"
import * as LayerContent from "../document/LayerContent.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import type { ConfigLayer } from "./ConfigLayer.js"
import { urlOf } from "../explain/redactParts.js"
import type { DocumentText } from "../document/DocumentText.js"

const version = 1

const Kept = Schema.parseJson(
  Schema.Struct({
    version: Schema.Literal(version),
    url: Schema.String,
    /** Milliseconds since 1970. */
    fetchedAt: Schema.Number,
    /** Absent if the document has never been fetched from this address. */
    text: Schema.optional(Schema.String),
    etag: Schema.optional(Schema.String),
    /** Why the last request failed; absent if it succeeded. */
    problem: Schema.optional(Schema.String)
  })
)

const maxBytes = 1024 * 1024

/** The largest stored file. One character of the document may take several there. */
const maxKept = 8 * maxBytes

/** The time between two requests while they succeed. */
const refreshEvery = Duration.hours(1)

/** The time after the first failed request. It doubles with each further failure, up to `refreshEvery`. */
const retryAfter = Duration.minutes(1)

export const fileIn = (stateDir: string): string => join(stateDir, "organisation.json")

/** The URL of the document, if it may be requested. A URL without a path gets the conventional path. */
export const addressOf = ({ env }: Pick<Surroundings, "env">): Option.Option<string> => {
  const given = Environment.read(env, "defaultsUrl")
  if (given === undefined || !URL.canParse(given)) return Option.none()
  const url = new URL(given)
  if (url.protocol !== "https:" && !isLocal(url)) return Option.none()
  if (url.pathname === "/") url.pathname = "/.well-known/mcp-supervisor"
  return Option.some(url.href)
}

const isLocal = ({ hostname, protocol }: URL): boolean => protocol === "http:" && isLoopback(hostname)

/** The code of the diagnostic for a document that could not be fetched. */
export const unavailable = "organisation_unavailable"

/** What is known of the document without a request. */
export interface Known {
  /** The stored copy, if it is of the same URL. */
  readonly document: Option.Option<string>
  /** Warnings about the URL or the last request. */
  readonly remarks: ReadonlyArray<Diagnostic>
}

export const known = (surroundings: Surroundings): Effect.Effect<Known> =>
  Effect.gen(function* () {
    const copy = yield* copyOf(surroundings)
    return { document: Option.fromNullable(copy?.text), remarks: remarksOn(surroundings, copy) }
  })

const copyOf = (surroundings: Surroundings): Effect.Effect<typeof Kept.Type | undefined> =>
  Effect.gen(function* () {
    const url = yield* addressOf(surroundings)
    const found = yield* ConfigFile.readStateText(fileIn(surroundings.stateDir), maxKept)
    if (found._tag !== "Found") return undefined
    const copy = yield* Schema.decode(Kept)(found.text)
    return copy.url === url ? copy : undefined
  }).pipe(Effect.orElseSucceed(() => undefined))

const remarksOn = (surroundings: Surroundings, copy: typeof Kept.Type | undefined): ReadonlyArray<Diagnostic> => {
  if (Environment.read(surroundings.env, "defaultsUrl") === undefined) return []
  const warning = (code: string, message: string): Diagnostic => ({ severity: "warning", code, message })
  const address = addressOf(surroundings)
  if (Option.isNone(address)) {
    const message = `${Environment.variables.defaultsUrl} is no https address (http is for this machine only): it is not asked`
    return [warning("organisation_address", message)]
  }
  if (copy?.problem === undefined) return []
  const consequence =
    copy.text === undefined
      ? "there is no earlier copy, so its servers are missing"
      : `the copy of ${new Date(copy.fetchedAt).toISOString()} is used`
  const message = `the organisation's defaults could not be fetched from ${nameOf(address.value)}: ${copy.problem}; ${consequence}`
  return [warning(unavailable, message)]
}

/** The part of a URL that is shown. The rest may hold a password, and the path a key. */
const nameOf = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return urlOf(`${origin}${pathname}`)
}

/** The document as a layer, with its content. */
export const layerOf = (
  { cwd }: Pick<Surroundings, "cwd">,
  url: string,
  document: string
): {
  readonly layer: ConfigLayer
  readonly content: Either.Either<LayerContent.LayerContent, ReadonlyArray<Issue>>
} => {
  const name = nameOf(url)
  const text: DocumentText = { name, format: "json", text: document }
  const layer: ConfigLayer = { kind: "organisation", name, directory: cwd, text }
  return { layer, content: LayerContent.read(layer, text) }
}

/** How long a request in the background may take. */
const patience = Duration.seconds(5)

/** How long a command waits for the first copy. */
const firstPatience = Duration.seconds(2)

/** Requests the document and stores it. Returns whether it succeeded; if not, the reason is stored for {@link known}. */
export const refresh = (surroundings: Surroundings, budget = patience): Effect.Effect<boolean> =>
  Effect.map(attempt(surroundings, budget), (problem) => problem === undefined)

/** Requests the document if there is no copy. Returns why there is still none, and stores the reason for {@link known} if possible. */
export const ensure = (surroundings: Surroundings): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    if (Option.isNone(addressOf(surroundings))) return undefined
    const copy = yield* copyOf(surroundings)
    return copy?.text === undefined ? yield* attempt(surroundings, firstPatience) : undefined
  })

/** Requests the document once. Returns the reason if the request failed. */
const attempt = (surroundings: Surroundings, budget: Duration.Duration): Effect.Effect<string | undefined> =>
  Option.match(addressOf(surroundings), {
    onNone: () => Effect.succeed("there is no address to ask"),
    onSome: (url) =>
      Effect.gen(function* () {
        const before = yield* copyOf(surroundings)
        const fetched = yield* Effect.either(fetchChecked(surroundings, url, before, budget))
        const problem = Either.isLeft(fetched) ? fetched.left : undefined
        const next = Either.isRight(fetched)
          ? fetched.right
          : { ...(before ?? { version, url, fetchedAt: 0 }), problem }
        const isNews = Either.isRight(fetched) || before?.problem !== problem
        const written = yield* Effect.either(isNews ? keep(surroundings, next) : Effect.void)
        const reason = problem ?? (Either.isLeft(written) ? `it could not be kept: ${written.left}` : undefined)
        if (reason !== undefined)
          yield* Effect.annotateLogs(Effect.logWarning("mcp.config.organisation"), "reason", reason)
        return reason
      })
  })

/** Refreshes now and then periodically, sooner after a failure. Never returns. */
export const keepFresh = (surroundings: Surroundings): Effect.Effect<never> => repeatedly(refresh(surroundings))

/** @internal */
export const repeatedly = (attempt: Effect.Effect<boolean>): Effect.Effect<never> =>
  Effect.gen(function* () {
    let pause = retryAfter
    while (true) {
      const hasSucceeded = yield* attempt
      yield* Effect.sleep(hasSucceeded ? refreshEvery : pause)
      pause = hasSucceeded ? retryAfter : Duration.min(Duration.times(pause, 2), refreshEvery)
    }
  })

const fetchChecked = (
  surroundings: Surroundings,
  url: string,
  before: typeof Kept.Type | undefined,
  budget: Duration.Duration
): Effect.Effect<typeof Kept.Type, string> =>
  Effect.gen(function* () {
    const { fetchDocument } = yield* Effect.tryPromise({ try: () => import("./fetchDocument.js"), catch: String })
    const isAllowed = (target: URL) => target.protocol === "https:" || (isLocal(target) && isLocal(new URL(url)))
    const etag = before?.text === undefined ? undefined : before.etag
    const fetched = yield* fetchDocument(url, { etag, maxBytes, isAllowed, budget })
    const fetchedAt = yield* Clock.currentTimeMillis
    if (fetched._tag === "Unchanged") return { ...before!, fetchedAt, problem: undefined }
    // the response of a proxy or a login page must not replace the copy
    const { content } = layerOf(surroundings, url, fetched.text)
    if (!isDocument(fetched.text) || Either.isLeft(content))
      return yield* Effect.fail("the answer is no config document")
    return { version, url, fetchedAt, text: fetched.text, etag: fetched.etag }
  })

const keep = (surroundings: Surroundings, copy: typeof Kept.Type): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const file = fileIn(surroundings.stateDir)
    const before = yield* StateFile.read(file, maxKept)
    if (before._tag === "Newer") return yield* Effect.fail("a newer version of this program keeps it")
    const text = yield* Effect.mapError(Schema.encode(Kept)(copy), () => "it cannot be encoded")
    yield* StateFile.write(file, text)
  })

const isDocument = (text: string): boolean => {
  try {
    return Predicate.isRecord(JSON.parse(text))
  } catch {
    return false
  }
}
