/**
 * Reads, finds and writes files with limits on size and time. A crash never loses a file that is being written.
 */
import { constants } from "node:fs"
import { type FileHandle, open, readlink, realpath, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { timeoutWhileRunning } from "../../system/budget.js"
import { openOwn, UnsafePath } from "../../system/files/ownership.js"
import { codeOf, replace } from "../../system/files/wholeFile.js"

export type FileContent =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Problem"; readonly reason: string }
  | { readonly _tag: "Found"; readonly text: string }

/** How long a file operation may take. */
const budget = "5 seconds"

/** Reads a file. Never fails and never blocks: a pipe of that name is not read. */
export const readText = (path: string, maxBytes: number): Effect.Effect<FileContent> =>
  readWithin(() => open(path, constants.O_RDONLY | constants.O_NONBLOCK), maxBytes)

/** Reads a file of the state directory. A link, or a file that other users can write, is a problem. */
export const readStateText = (path: string, maxBytes: number): Effect.Effect<FileContent> =>
  readWithin(() => openOwn(path), maxBytes)

const readWithin = (openFile: () => Promise<FileHandle>, maxBytes: number): Effect.Effect<FileContent> =>
  Effect.tryPromise({ try: () => read(openFile, maxBytes), catch: problemOf }).pipe(
    Effect.catchAll(Effect.succeed),
    timeoutWhileRunning(budget),
    Effect.map(Option.getOrElse((): FileContent => ({ _tag: "Problem", reason: "a disk that does not answer" })))
  )

/**
 * Reads several files by path, in batches. When the total size is reached, the remaining files are not read; which ones
 * depends only on the order of paths.
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
      // with a limit of zero bytes, this only finds out which files exist
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
    // a byte order mark is kept, so that an edit of the file keeps it
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
 * Resolves a path through all links. For a path that does not exist, gives the path where a file would be created: a link
 * without a target is still a link.
 */
export const realPath = (path: string): Effect.Effect<string> =>
  bounded(
    Effect.promise(() => leadsTo(path, maxLinks)),
    path
  )

/** Whether a path exists. A disk that does not respond counts as no. */
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
  effect.pipe(timeoutWhileRunning(budget), Effect.map(Option.getOrElse(() => otherwise)))

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

/** Replaces the text of a file. An existing file keeps its permissions; a new one gets `mode`. */
export const write = (path: string, text: string, mode: number): Effect.Effect<void, string> =>
  replace(path, text, { mode, keepMode: true, durable: true })
