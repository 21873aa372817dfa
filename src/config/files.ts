/**
 * Files as this room needs them: read and found with bounds, and never lost to a crash.
 */
import { constants } from "node:fs"
import { open, readlink, realpath, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { codeOf, replace } from "../system/wholeFile.js"

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
