/**
 * Files that only the user can write. What the state directory says decides which programs run, so no other user may have
 * written it.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"

/** Why a file or directory is not safe to use. */
export type Unsafe = "NOT_OWNED" | "WRITABLE_BY_OTHERS" | "NOT_A_FILE" | "LINK"

/** A file or directory that is not safe to use. `code` has the place of a system error code. */
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

/** Undefined on systems without numeric user ids: there, owner and mode say nothing. */
const currentUser = (): number | undefined => process.geteuid?.()

/** The administrator can change everything anyway. */
const administrator = 0

const othersWrite = 0o022

/** Whether a path belongs to another user who is not the administrator. */
export const isOthers = (uid: number, user: number | undefined = currentUser()): boolean =>
  user !== undefined && uid !== user && uid !== administrator

/** Why the owner or the mode make a path unsafe, if they do. */
export const unsafeOwner = (
  { mode, uid }: Pick<Stats, "mode" | "uid">,
  user: number | undefined = currentUser()
): "NOT_OWNED" | "WRITABLE_BY_OTHERS" | undefined => {
  if (user === undefined) return undefined
  if (isOthers(uid, user)) return "NOT_OWNED"
  return (mode & othersWrite) === 0 ? undefined : "WRITABLE_BY_OTHERS"
}

export const rejectUnsafe = (path: string, found: Stats, code: Unsafe | undefined): void => {
  if (code !== undefined) throw new UnsafePath(path, code, found.uid)
}

/** Neither a link nor a pipe of that name may lead elsewhere or block. Windows has neither flag. */
const ownFlags = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Opens a file of the state directory. Throws `UnsafePath` unless it is a regular file that only the user can write. */
export const openOwn = async (path: string, flags: number = constants.O_RDONLY): Promise<FileHandle> => {
  const file = await open(path, flags | ownFlags, 0o600).catch(rejectLink(path))
  try {
    const found = await file.stat()
    rejectUnsafe(path, found, found.isFile() ? unsafeOwner(found) : "NOT_A_FILE")
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The text of a file of the state directory. A file above the limit has an empty text: it is not one of ours. */
export const readOwn = async (path: string, maxBytes: number): Promise<string> => {
  const file = await openOwn(path)
  try {
    return (await file.stat()).size <= maxBytes ? await file.readFile("utf8") : ""
  } finally {
    await file.close()
  }
}

/** The system's error for a link that is not followed is the one for links in a circle. */
const rejectLink =
  (path: string) =>
  (error: unknown): never => {
    throw error instanceof Error && "code" in error && error.code === "ELOOP" ? new UnsafePath(path, "LINK") : error
  }

/** The text of a file of the state directory, for the command that loads no more than it has to. */
export const readOwnSync = (path: string): string => {
  const file = openOwnSync(path, constants.O_RDONLY)
  try {
    return readFileSync(file, "utf8")
  } finally {
    closeSync(file)
  }
}

/** `openOwn` for a file descriptor that is handed to a child process. */
export const openOwnSync = (path: string, flags: number): number => {
  const file = openFile(path, flags)
  try {
    const found = fstatSync(file)
    rejectUnsafe(path, found, found.isFile() ? unsafeOwner(found) : "NOT_A_FILE")
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
    return rejectLink(path)(error)
  }
}
