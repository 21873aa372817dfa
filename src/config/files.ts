/**
 * Files as this room needs them: read with bounds, written whole or not at all.
 */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { chmod, link, mkdir, open, realpath, rename, rm, stat } from "node:fs/promises"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"

export type Found =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Problem"; readonly reason: string }
  | { readonly _tag: "Found"; readonly text: string }

/** How long the disk may take. */
const budget = "5 seconds"

/** What a file says. Never fails, never waits for long: a pipe of that name is no file. */
export const readText = (path: string, maxBytes: number): Effect.Effect<Found> =>
  Effect.tryPromise({ try: () => read(path, maxBytes), catch: codeOf }).pipe(
    Effect.catchAll((code) =>
      Effect.succeed<Found>(
        code === "ENOENT" || code === "ENOTDIR" ? { _tag: "Absent" } : { _tag: "Problem", reason: reasonOf(code) }
      )
    ),
    Effect.disconnect,
    Effect.timeoutOption(budget),
    Effect.map(Option.getOrElse((): Found => ({ _tag: "Problem", reason: "a disk that does not answer" })))
  )

const read = async (path: string, maxBytes: number): Promise<Found> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) {
      return { _tag: "Problem", reason: found.isDirectory() ? "a directory" : "something that is no file" }
    }
    if (found.size > maxBytes) return { _tag: "Problem", reason: `a file of more than ${maxBytes} bytes` }
    return decoded(await file.readFile())
  } finally {
    await file.close()
  }
}

const decoded = (bytes: Buffer): Found => {
  try {
    // a byte order mark is kept: who changes the file leaves it there
    return { _tag: "Found", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
    return { _tag: "Problem", reason: isWide ? "UTF-16: save it as UTF-8" : "bytes that are no UTF-8" }
  }
}

const reasons: Record<string, string> = {
  EACCES: "a file that we are not allowed to read",
  EPERM: "a file that we are not allowed to read",
  EISDIR: "a directory",
  ELOOP: "links that lead in a circle",
  ENXIO: "something that is no file"
}

export const reasonOf = (code: string): string => reasons[code] ?? `a file that cannot be read (${code})`

/** Where a path leads, through all links. Of what is not there, the path itself. */
export const realPath = (path: string): Effect.Effect<string> =>
  Effect.orElseSucceed(
    Effect.tryPromise(() => realpath(path)),
    () => path
  )

/**
 * Puts a text in place of a file. It keeps the permissions of the one that is there; a new one has those given. What is there
 * stays whole until the new one is. Fails with what the system calls the error.
 */
export const write = (path: string, text: string, mode: number): Effect.Effect<void, string> =>
  placed(path, text, async (temporary) => {
    const before = await stat(path).catch(() => undefined)
    await chmod(temporary, before === undefined ? mode : before.mode & 0o7777)
    await rename(temporary, path)
  })

/** Makes a file unless there is one, which then stays. Whether it was made. */
export const create = (path: string, text: string): Effect.Effect<boolean, string> =>
  placed(path, text, (temporary) =>
    link(temporary, path).then(
      () => true,
      (error) => (codeOf(error) === "EEXIST" ? false : Promise.reject(error))
    )
  )

/** Not to be interrupted: what was begun would go on, and might overtake what comes later. */
const placed = <A>(path: string, text: string, place: (temporary: string) => Promise<A>): Effect.Effect<A, string> =>
  Effect.uninterruptible(
    Effect.tryPromise({
      try: async () => {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        const temporary = `${path}.${randomUUID()}.tmp`
        try {
          const file = await open(temporary, "wx", 0o600)
          try {
            await file.writeFile(text)
            await file.sync()
          } finally {
            await file.close()
          }
          return await place(temporary)
        } finally {
          await rm(temporary, { force: true })
        }
      },
      catch: codeOf
    })
  )

export const remove = (path: string): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise({ try: () => rm(path, { force: true }), catch: codeOf }))

export const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "unknown"
