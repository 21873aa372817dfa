/**
 * Files that are whole or not there at all: written beside the place, then put there.
 */
import { randomUUID } from "node:crypto"
import { chmod, link, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

export interface ReplaceOptions {
  /** Of the file. Defaults to nobody but the user. */
  readonly mode?: number | undefined
  /** Whether a file that is there keeps its own mode. Defaults to false. */
  readonly keepMode?: boolean | undefined
  /** Whether it has to be on the disk before it takes the place: for what cannot be had again. Defaults to false. */
  readonly durable?: boolean | undefined
}

/**
 * Puts a file in place of the one that is there, if there is one. Missing directories are made. Fails with what the system
 * calls the error.
 */
export const replace = (path: string, text: string, options: ReplaceOptions = {}): Effect.Effect<void, string> =>
  prepared(path, text, options.durable ?? false, async (temporary) => {
    const { keepMode = false, mode = 0o600 } = options
    const before = keepMode ? await stat(path).catch(() => undefined) : undefined
    const wanted = before === undefined ? mode : before.mode & 0o7777
    if (wanted !== 0o600) await chmod(temporary, wanted)
    await rename(temporary, path)
  })

/** Makes a file unless there is one, which then stays: of several who try at once, one succeeds. Whether it was made. */
export const create = (
  path: string,
  text: string,
  { durable = false }: Pick<ReplaceOptions, "durable"> = {}
): Effect.Effect<boolean, string> =>
  prepared(path, text, durable, (temporary) =>
    link(temporary, path)
      // not every file system can give a file a second name
      .catch((error) =>
        isThere(error) ? Promise.reject(error) : writeFile(path, text, { mode: 0o600, flag: "wx", flush: durable })
      )
      .then(
        () => true,
        (error) => (isThere(error) ? false : Promise.reject(error))
      )
  )

const isThere = (error: unknown): boolean => codeOf(error) === "EEXIST"

/** Not to be interrupted: what was begun would go on, and might overtake what comes later. */
const prepared = <A>(path: string, text: string, durable: boolean, place: (temporary: string) => Promise<A>) =>
  Effect.uninterruptible(
    Effect.tryPromise({
      try: async () => {
        await makeDirectory(dirname(path))
        const temporary = `${path}.${randomUUID()}.tmp`
        try {
          const file = await open(temporary, "wx", 0o600)
          try {
            await file.writeFile(text)
            if (durable) await file.sync()
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

/**
 * Makes a directory for nobody but the user, and those above it, where they are not there. One level at a time: where the file
 * system does not let us, Node's own way calls it missing, or tries for ever (`/proc/x`).
 */
export const makeDirectory = async (path: string): Promise<void> => {
  const parent = dirname(path)
  try {
    await makeOne(path)
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || parent === path) throw error
    await makeDirectory(parent)
    await makeOne(path)
  }
}

const makeOne = (path: string): Promise<void> =>
  mkdir(path, { mode: 0o700 }).catch(async (error) => {
    if (!isThere(error) || !(await stat(path)).isDirectory()) throw error
  })

/** What the system calls an error. */
export const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "unknown"
