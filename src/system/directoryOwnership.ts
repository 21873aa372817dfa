/**
 * Whether a directory is safe from other users, as ssh checks its own: neither the directory nor a directory or link on the way
 * to it can be replaced or written by another user.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs"
import { dirname, join, parse, resolve, sep } from "node:path"
import { isOthers, rejectUnsafe, type Unsafe, UnsafePath, unsafeOwner } from "./ownership.js"

/** More links than any system follows. */
const maxLinks = 40

/**
 * Throws `UnsafePath` for the first part of the path that is not safe. A part that is missing is safe, because it is made for
 * the user alone. Any other error of the system is thrown as it is.
 */
export const assertSafeDirectory = (path: string): void => {
  const { root } = parse(path)
  const administrator = lstatSync(root).uid
  let rest = partsOf(path)
  let directory = root
  let links = 0
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const here = join(directory, name)
    const found = statsOf(here)
    if (found === undefined) return
    if (found.isSymbolicLink()) {
      // the mode of a link has no meaning, its owner does
      rejectUnsafe(here, found, unsafeOwner({ uid: found.uid, mode: 0 }))
      if (++links > maxLinks) throw new UnsafePath(here, "LINK")
      rest = partsOf(resolve(dirname(here), readlinkSync(here))).concat(rest)
      directory = root
    } else {
      const isLast = rest.length === 0
      rejectUnsafe(here, found, isLast ? unsafeLast(found) : unsafeOnTheWay(found, administrator))
      directory = here
    }
  }
}

/** Throws `UnsafePath` unless each of these directories in a safe directory, as far as it exists, is one of the user's own. */
export const assertOwnDirectories = (directory: string, names: ReadonlyArray<string>): void => {
  for (const name of names) {
    const path = join(directory, name)
    const found = statsOf(path)
    if (found !== undefined) rejectUnsafe(path, found, found.isSymbolicLink() ? "LINK" : unsafeLast(found))
  }
}

const partsOf = (path: string): Array<string> => {
  const { root } = parse(path)
  return path
    .slice(root.length)
    .split(sep)
    .filter((part) => part !== "")
}

const statsOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

const unsafeLast = (found: Stats): Unsafe | undefined => (found.isDirectory() ? unsafeOwner(found) : undefined)

const sticky = 0o1000
const groupWrites = 0o020

/**
 * Within a sticky directory, such as `/tmp`, only its owner can replace a file. The user's own group may write a directory on
 * the way: many systems give each user a group, and let it write.
 */
const unsafeOnTheWay = (found: Stats, administrator: number): Unsafe | undefined => {
  const { gid, mode, uid } = found
  if (uid !== administrator && isOthers(uid)) return "NOT_OWNED"
  if ((mode & sticky) !== 0) return undefined
  const isOwnGroup = gid === process.getegid?.() || gid === 0
  return unsafeOwner({ uid: 0, mode: isOwnGroup ? mode & ~groupWrites : mode })
}
