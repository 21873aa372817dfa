/**
 * Which declarations of project files somebody has approved of: `trust.json` in the state directory. It holds no config, only
 * hashes with a key of their own (`trust.key`), and an approval is for one declaration in one file: it lapses with a change.
 */
import { createHmac, randomBytes } from "node:crypto"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Secrets from "../domain/Secrets.js"
import { create } from "../system/wholeFile.js"
import type { Content } from "./Content.js"
import * as Files from "./files.js"
import * as Tree from "./Tree.js"
import { withLock } from "./lock.js"

const version = 1

const Approval = Schema.Struct({
  /** Hashes by the name of the server. */
  servers: Schema.Record({ key: Schema.String, value: Schema.String }),
  /** Of what the file says besides. */
  settings: Schema.optional(Schema.String)
})

const Document = Schema.parseJson(
  Schema.Struct({ version: Schema.Literal(version), files: Schema.Record({ key: Schema.String, value: Approval }) })
)

const Key = Schema.parseJson(
  Schema.Struct({ version: Schema.Literal(version), key: Schema.String.pipe(Schema.pattern(/^[\da-f]{64}$/)) })
)

const Versioned = Schema.parseJson(Schema.Struct({ version: Schema.Number }))

type Approvals = Readonly<Record<string, typeof Approval.Type>>

const maxBytes = 16 * 1024 * 1024

export const fileIn = (stateDir: string): string => join(stateDir, "trust.json")

const keyIn = (stateDir: string): string => join(stateDir, "trust.key")

/** What is approved of, for as long as nobody changes it. */
export interface Trust {
  readonly server: (file: string, content: Content, name: string) => boolean
  readonly settings: (file: string, content: Content) => boolean
}

/** What a text of `trust.json` approves of. Without a key, or with texts that are not ours, that is nothing. */
export const read = (stateDir: string, found: Files.Found): Effect.Effect<Trust> =>
  Effect.gen(function* () {
    const key = yield* Schema.decode(Key)(yield* textOf(keyIn(stateDir)))
    const { files } = yield* Schema.decode(Document)(found._tag === "Found" ? found.text : "")
    return trustOf(key.key, files)
  }).pipe(Effect.orElseSucceed(() => trustOf("", {})))

const trustOf = (key: string, files: Approvals): Trust => ({
  server: (file, content, name) => {
    const approved = files[file]?.servers
    return (
      approved !== undefined && Object.hasOwn(approved, name) && approved[name] === serverHash(key, file, content, name)
    )
  },
  settings: (file, content) =>
    content.settings.fields.size === 0 || files[file]?.settings === settingsHash(key, file, content)
})

const textOf = (path: string): Effect.Effect<string, "absent" | "unreadable"> =>
  Effect.flatMap(Files.readText(path, maxBytes), (found) =>
    found._tag === "Found" ? Effect.succeed(found.text) : Effect.fail(found._tag === "Absent" ? "absent" : "unreadable")
  )

const serverHash = (key: string, file: string, { servers }: Content, name: string): string => {
  const entry = servers.get(name)
  return hash(key, ["server", file, name, entry === undefined ? null : canonical(Tree.toPlain(entry.tree))])
}

const settingsHash = (key: string, file: string, { settings }: Content): string =>
  hash(key, ["settings", file, inOrder(Tree.toPlain(settings))])

const hash = (key: string, what: unknown): string =>
  createHmac("sha256", Buffer.from(key, "hex")).update(JSON.stringify(what)).digest("hex")

/** The same for everything that means the same, whatever the order of keys. */
const canonical = (value: unknown): unknown => {
  if (Secrets.isText(value)) return Secrets.reveal(value)
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? String(value) : value
  return [
    "object",
    ...Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item)])
  ]
}

/** Of patterns, the order counts. */
const inOrder = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? ["object", ...Object.entries(value).map(([key, item]) => [key, inOrder(item)])]
    : value

/** What is to be approved of: some servers of a file, or all of it. */
export interface Grant {
  readonly file: string
  readonly content: Content
  readonly servers: ReadonlyArray<string>
  readonly settings: boolean
}

/** Approves, beside what was approved before. Fails with why it could not be kept. */
export const approve = (stateDir: string, grants: ReadonlyArray<Grant>): Effect.Effect<void, string> =>
  change(stateDir, (key, files) => {
    const next = new Map(Object.entries(files))
    for (const { content, file, servers, settings } of grants) {
      const before = next.get(file)
      next.set(file, {
        servers: Object.fromEntries([
          // what is no longer declared is no longer approved of
          ...Object.entries(before?.servers ?? {}).filter(([name]) => content.servers.has(name)),
          ...servers.map((name) => [name, serverHash(key, file, content, name)] as const)
        ]),
        settings: settings ? settingsHash(key, file, content) : before?.settings
      })
    }
    return Effect.succeed(Object.fromEntries(next))
  })

/** Takes back all approvals of a file. Fails where there are none: whoever takes one back means one that is there. */
export const revoke = (stateDir: string, file: string): Effect.Effect<void, string> =>
  change(stateDir, (_key, { [file]: approved, ...others }) =>
    approved === undefined ? Effect.fail("nothing of it was approved") : Effect.succeed(others)
  )

const change = (
  stateDir: string,
  next: (key: string, files: Approvals) => Effect.Effect<Approvals, string>
): Effect.Effect<void, string> =>
  withLock(
    stateDir,
    "trust"
  )(
    Effect.gen(function* () {
      const key = yield* makeKey(stateDir)
      const before = yield* Effect.either(textOf(fileIn(stateDir)))
      const files = before._tag === "Right" ? yield* approvalsIn(before.right) : {}
      if (before._tag === "Left" && before.left === "unreadable") return yield* Effect.fail("trust.json cannot be read")
      const text = yield* Effect.mapError(
        Schema.encode(Document)({ version, files: yield* next(key, files) }),
        () => "approvals could not be written down"
      )
      yield* Files.write(fileIn(stateDir), text, 0o600)
    })
  )

/** A file of a later version is left alone; what is no file of ours is begun anew. */
const approvalsIn = (text: string): Effect.Effect<Approvals, string> =>
  Schema.decode(Document)(text).pipe(
    Effect.map(({ files }) => files),
    Effect.orElse(() =>
      Effect.flatMap(
        Effect.orElseSucceed(Schema.decode(Versioned)(text), () => ({ version: 0 })),
        (found) =>
          found.version > version
            ? Effect.fail("trust.json was written by a newer version of this program")
            : Effect.succeed({})
      )
    )
  )

/** Of several who make a key at once, all get the same. */
const makeKey = (stateDir: string): Effect.Effect<string, string> =>
  Effect.gen(function* () {
    const path = keyIn(stateDir)
    const found = yield* Effect.either(textOf(path))
    if (found._tag === "Left") {
      if (found.left === "unreadable") return yield* Effect.fail("trust.key cannot be read")
      // approvals that are on the disk are worth nothing without it
      yield* create(path, JSON.stringify({ version, key: randomBytes(32).toString("hex") }), { durable: true })
    }
    const { key } = yield* Effect.mapError(
      Effect.flatMap(textOf(path), Schema.decode(Key)),
      () => "trust.key is no key of ours: remove it to begin anew"
    )
    return key
  })
