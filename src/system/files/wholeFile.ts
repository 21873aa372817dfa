/**
 * Writes files atomically: to a temporary file beside the target, which is then renamed or linked.
 */
import { randomUUID } from "node:crypto"
import { chmod, link, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

export interface ReplaceOptions {
  /** The mode of the file. Defaults to 0o600: access for the user only. */
  readonly mode?: number | undefined
  /** Whether an existing file keeps its mode. Defaults to false. */
  readonly keepMode?: boolean | undefined
  /** Whether the text is flushed to disk before it takes effect: for data that cannot be restored. Defaults to false. */
  readonly durable?: boolean | undefined
}

/**
 * Writes a file, or replaces the existing one. Creates missing directories. Fails with the system's error code.
 */
export const replace = (path: string, text: string, options: ReplaceOptions = {}): Effect.Effect<void, string> =>
  writeTemporary(path, text, options.durable ?? false, async (temporary) => {
    const { keepMode = false, mode = 0o600 } = options
    const existing = keepMode ? await stat(path).catch(() => undefined) : undefined
    const targetMode = existing === undefined ? mode : existing.mode & 0o7777
    if (targetMode !== 0o600) await chmod(temporary, targetMode)
    await rename(temporary, path)
  })

/**
 * Creates a file unless it exists; an existing file is not changed. If several processes try at once, one creates it. Returns
 * whether the file was created.
 */
export const create = (
  path: string,
  text: string,
  { durable = false }: Pick<ReplaceOptions, "durable"> = {}
): Effect.Effect<boolean, string> =>
  writeTemporary(path, text, durable, (temporary) =>
    link(temporary, path)
      // not every file system supports hard links
      .catch((error) =>
        isExistingError(error)
          ? Promise.reject(error)
          : writeFile(path, text, { mode: 0o600, flag: "wx", flush: durable })
      )
      .then(
        () => true,
        (error) => (isExistingError(error) ? false : Promise.reject(error))
      )
  )

const isExistingError = (error: unknown): boolean => codeOf(error) === "EEXIST"

/**
 * Writes the temporary file and passes it to `place`. Uninterruptible: an interrupt would not stop the file operations, and they
 * could then overwrite a later write.
 */
const writeTemporary = <A>(path: string, text: string, durable: boolean, place: (temporary: string) => Promise<A>) =>
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
 * Creates a directory and its missing parents, with access for the user only. It creates one level at a time: where the file
 * system does not permit it, Node's recursive `mkdir` reports a missing directory or never returns (`/proc/x`).
 */
export const makeDirectory = async (path: string): Promise<void> => {
  const parent = dirname(path)
  try {
    await makeLevel(path)
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || parent === path) throw error
    await makeDirectory(parent)
    await makeLevel(path)
  }
}

const makeLevel = (path: string): Promise<void> =>
  mkdir(path, { mode: 0o700 }).catch(async (error) => {
    if (!isExistingError(error) || !(await stat(path)).isDirectory()) throw error
  })

/** The system's code of an error, such as `ENOENT`; `unknown` if it has none. */
export const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "unknown"
