/**
 * Files as this room needs them: read and found with bounds, and never lost to a crash.
 */
import { constants } from "node:fs"
import { type FileHandle, open, readlink, realpath, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { openOwn, UnsafePath } from "../../system/ownership.js"
import { codeOf, replace } from "../../system/wholeFile.js"

export type FileContent =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Problem"; readonly reason: string }
  | { readonly _tag: "Found"; readonly text: string }

/** How long the disk may take. */
const budget = "5 seconds"

/** What a file says. Never fails, never waits for long: a pipe of that name is no file. */
export const readText = (path: string, maxBytes: number): Effect.Effect<FileContent> =>
  readWithin(() => open(path, constants.O_RDONLY | constants.O_NONBLOCK), maxBytes)

/** Reads a file of the state directory. A link, and a file that other users can write, are a problem. */
export const readStateText = (path: string, maxBytes: number): Effect.Effect<FileContent> =>
  readWithin(() => openOwn(path), maxBytes)

const readWithin = (openFile: () => Promise<FileHandle>, maxBytes: number): Effect.Effect<FileContent> =>
  Effect.tryPromise({ try: () => read(openFile, maxBytes), catch: problemOf }).pipe(
    Effect.catchAll(Effect.succeed),
    Effect.disconnect,
    Effect.timeoutOption(budget),
    Effect.map(Option.getOrElse((): FileContent => ({ _tag: "Problem", reason: "a disk that does not answer" })))
  )

/**
 * Several files by path, in batches. Once the total is reached the remaining ones are not read: which ones those are depends on
 * their order only.
 */
export const readAll = (
  paths: ReadonlyArray<string>,
  limits: { readonly each: number; readonly total: number; readonly of: string }
): Effect.Effect<ReadonlyMap<string, FileContent>> =>
  Effect.gen(function* () {
    const all = new Map<string, FileContent>()
    let left = limits.total
    for (let start = 0; start < paths.length; start += batch) {
      const some = paths.slice(start, start + batch)
      // with no bytes allowed, this only tells which ones are there
      const each = left < 0 ? 0 : limits.each
      const found = yield* Effect.forEach(some, (path) => readText(path, each), { concurrency: batch })
      for (const [index, path] of some.entries()) {
        const one = found[index]!
        if (one._tag === "Found") left -= one.text.length
        const reason = `a file beyond the limit of ${limits.total} bytes for ${limits.of} together`
        all.set(path, left < 0 && one._tag !== "Absent" ? { _tag: "Problem", reason } : one)
      }
    }
    return all
  })

const batch = 16

const problemOf = (error: unknown): FileContent => {
  if (error instanceof UnsafePath) return { _tag: "Problem", reason: `a file that ${error.problem}` }
  const code = codeOf(error)
  return code === "ENOENT" || code === "ENOTDIR" ? { _tag: "Absent" } : { _tag: "Problem", reason: reasonOf(code) }
}

const read = async (openFile: () => Promise<FileHandle>, maxBytes: number): Promise<FileContent> => {
  const file = await openFile()
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

const decoded = (bytes: Buffer): FileContent => {
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

/**
 * Where a path leads, through all links. Of what is not there, where it would be made: a link that leads to nothing yet is
 * still a link.
 */
export const realPath = (path: string): Effect.Effect<string> =>
  bounded(
    Effect.promise(() => leadsTo(path, maxLinks)),
    path
  )

/** Whether there is something of that name. A disk that does not answer has nothing. */
export const exists = (path: string): Effect.Effect<boolean> =>
  bounded(
    Effect.promise(() =>
      stat(path).then(
        () => true,
        () => false
      )
    ),
    false
  )

const bounded = <A>(effect: Effect.Effect<A>, otherwise: A): Effect.Effect<A> =>
  effect.pipe(Effect.disconnect, Effect.timeoutOption(budget), Effect.map(Option.getOrElse(() => otherwise)))

/** More links than any system follows. */
const maxLinks = 40

const leadsTo = async (path: string, links: number): Promise<string> => {
  const real = await realpath(path).catch(() => undefined)
  if (real !== undefined) return real
  const target = links === 0 ? undefined : await readlink(path).catch(() => undefined)
  if (target !== undefined) return leadsTo(resolve(dirname(path), target), links - 1)
  const directory = dirname(path)
  return directory === path ? path : join(await leadsTo(directory, links), basename(path))
}

/** Puts a text in place of a file. It keeps the permissions of the one that is there; a new one has those given. */
export const write = (path: string, text: string, mode: number): Effect.Effect<void, string> =>
  replace(path, text, { mode, keepMode: true, durable: true })
