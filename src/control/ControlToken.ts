/**
 * Reads, creates and checks the token that every request carries: a file that only the user can read.
 *
 * @since 0.1.0
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { lstat } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { openOwn, UnsafePath } from "../system/files/ownership.js"
import * as StateFile from "../system/files/stateFile.js"
import { codeOf } from "../system/files/wholeFile.js"

/**
 * The token cannot be read or written, or is invalid.
 *
 * @since 0.1.0
 * @category errors
 */
export class TokenUnusable extends Schema.TaggedError<TokenUnusable>("mcp-supervisor/TokenUnusable")("TokenUnusable", {
  file: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.file}: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category files
 */
export const fileIn = (stateDir: string): string => join(stateDir, "control-token")

/**
 * Reads the token of a state directory. Fails if there is none.
 *
 * @since 0.1.0
 * @category files
 */
export const read = (stateDir: string): Effect.Effect<Redacted.Redacted<string>, TokenUnusable> =>
  Effect.gen(function* () {
    const file = fileIn(stateDir)
    const { isExposed, text } = yield* Effect.tryPromise({
      try: () => readToken(file),
      catch: (error) =>
        new TokenUnusable({
          file,
          reason:
            error instanceof UnsafePath
              ? `${error.problem}; remove it, and the next start creates a new one`
              : `cannot be read (${codeOf(error)})`
        })
    })
    // a running supervisor still accepts the exposed token: only the next start can replace it
    if (isExposed) yield* Effect.annotateLogs(Effect.logWarning("mcp.control.token_exposed"), "file", file)
    if (!isStrong(text)) {
      return yield* new TokenUnusable({
        file,
        reason: "contains no valid token; remove it, and the next start creates a new one"
      })
    }
    return Redacted.make(text)
  })

const readToken = async (path: string): Promise<{ readonly isExposed: boolean; readonly text: string }> => {
  const file = await openOwn(path)
  try {
    const isExposed = othersMayRead(await file.stat())
    if (isExposed) await file.chmod(0o600)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return { isExposed, text: buffer.toString("utf8", 0, bytesRead).trim() }
  } finally {
    await file.close()
  }
}

/** More than the longest token and its line end. */
const maxBytes = 2048

const othersMayRead = ({ mode }: { readonly mode: number }): boolean =>
  process.platform !== "win32" && (mode & 0o077) !== 0

/**
 * Whether a text is a valid token: at least 16 printable characters without spaces, and short enough for a header.
 *
 * @since 0.1.0
 * @category checks
 */
export const isStrong = (text: string): boolean => /^[\x21-\x7e]{16,1024}$/.test(text)

/**
 * Reads the token of a state directory, and creates it if there is none. Processes that create it at the same time get the
 * same token. A token that other users could read is replaced, so only the supervisor calls this, not its clients.
 *
 * @since 0.1.0
 * @category files
 */
export const make = (stateDir: string): Effect.Effect<Redacted.Redacted<string>, TokenUnusable> =>
  Effect.gen(function* () {
    const file = fileIn(stateDir)
    const isExposed = yield* Effect.orElseSucceed(
      Effect.tryPromise(async () => othersMayRead(await lstat(file))),
      () => false
    )
    if (isExposed) yield* Effect.annotateLogs(Effect.logWarning("mcp.control.token_replaced"), "file", file)
    const store = isExposed ? StateFile.write : StateFile.create
    yield* Effect.mapError(
      store(file, `${randomBytes(32).toString("base64url")}\n`),
      (code) => new TokenUnusable({ file, reason: `cannot be written (${code})` })
    )
    return yield* read(stateDir)
  })

/** Whether an `Authorization` header carries one of the tokens. Comparison time reveals nothing about them. */
export const accepts = (
  tokens: ReadonlyArray<Redacted.Redacted<string>>
): ((authorization: string | undefined) => boolean) => {
  const digests = tokens.map((token) => digest(Redacted.value(token)))
  return (authorization) => {
    const [, given] = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "") ?? []
    if (given === undefined) return false
    const givenDigest = digest(given)
    return digests.reduce((isMatch, token) => timingSafeEqual(token, givenDigest) || isMatch, false)
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()
