/**
 * Opens files of the state directory, and rejects those that other users can write. The content of the state directory decides
 * which programs run.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"

/** Why a file or directory is not safe to use. */
export type Unsafe = "NOT_OWNED" | "WRITABLE_BY_OTHERS" | "NOT_A_FILE" | "LINK"

/** A file or directory is not safe to use. `code` takes the place of a system error code. */
export class UnsafePath extends Error {
  readonly path: string
  readonly code: Unsafe
  readonly owner: number | undefined

  constructor(path: string, code: Unsafe, owner?: number) {
    super()
    this.path = path
    this.code = code
    this.owner = owner
  }

  /** What is wrong with the path, without the path. */
  get problem(): string {
    switch (this.code) {
      case "NOT_OWNED":
        return `belongs to user ${this.owner}, not to you`
      case "WRITABLE_BY_OTHERS":
        return "can be written by other users"
      case "NOT_A_FILE":
        return "is not a regular file"
      case "LINK":
        return "is a symbolic link"
    }
  }

  override get message(): string {
    return `${this.path} ${this.problem}`
  }
}

/** The effective user. Undefined on systems without numeric user ids, where owner and mode have no meaning. */
const currentUser = (): number | undefined => process.geteuid?.()

/** The administrator can change every file anyway, so files of this user are accepted. */
const administrator = 0

const othersWrite = 0o022

/** Whether a path belongs to another user than the current one and the administrator. */
export const isForeignOwner = (uid: number, user: number | undefined = currentUser()): boolean =>
  user !== undefined && uid !== user && uid !== administrator

/** Why owner or mode make a path unsafe; undefined if they do not. */
export const unsafeOwner = (
  { mode, uid }: Pick<Stats, "mode" | "uid">,
  user: number | undefined = currentUser()
): "NOT_OWNED" | "WRITABLE_BY_OTHERS" | undefined => {
  if (user === undefined) return undefined
  if (isForeignOwner(uid, user)) return "NOT_OWNED"
  return (mode & othersWrite) === 0 ? undefined : "WRITABLE_BY_OTHERS"
}

/** Throws `UnsafePath` if there is a code. */
export const rejectUnsafe = (path: string, stats: Stats, code: Unsafe | undefined): void => {
  if (code !== undefined) throw new UnsafePath(path, code, stats.uid)
}

/** A link at the path must not be followed, and a pipe must not block. Windows has neither flag. */
const ownFlags = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Opens a file of the state directory. Throws `UnsafePath` unless it is a regular file that only the user can write. */
export const openOwn = async (path: string, flags: number = constants.O_RDONLY): Promise<FileHandle> => {
  const file = await open(path, flags | ownFlags, 0o600).catch(rethrowOpenError(path))
  try {
    const stats = await file.stat()
    rejectUnsafe(path, stats, stats.isFile() ? unsafeOwner(stats) : "NOT_A_FILE")
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Reads a file of the state directory. The text of a file above the limit is empty: no supervisor writes one. */
export const readOwn = async (path: string, maxBytes: number): Promise<string> => {
  const file = await openOwn(path)
  try {
    return (await file.stat()).size <= maxBytes ? await file.readFile("utf8") : ""
  } finally {
    await file.close()
  }
}

/** Rethrows an error of `open`, as `UnsafePath` for a link: with O_NOFOLLOW, the system reports `ELOOP` for it. */
const rethrowOpenError =
  (path: string) =>
  (error: unknown): never => {
    throw error instanceof Error && "code" in error && error.code === "ELOOP" ? new UnsafePath(path, "LINK") : error
  }

/** Reads a file of the state directory, for the CLI command that loads as few modules as possible. */
export const readOwnSync = (path: string): string => {
  const file = openOwnSync(path, constants.O_RDONLY)
  try {
    return readFileSync(file, "utf8")
  } finally {
    closeSync(file)
  }
}

/** Opens a file as `openOwn` does, and returns a descriptor that can be passed to a child process. */
export const openOwnSync = (path: string, flags: number): number => {
  const file = openFile(path, flags)
  try {
    const stats = fstatSync(file)
    rejectUnsafe(path, stats, stats.isFile() ? unsafeOwner(stats) : "NOT_A_FILE")
    return file
  } catch (error) {
    closeSync(file)
    throw error
  }
}

const openFile = (path: string, flags: number): number => {
  try {
    return openSync(path, flags | ownFlags, 0o600)
  } catch (error) {
    return rethrowOpenError(path)(error)
  }
}
