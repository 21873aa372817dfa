/**
 * Checks that no other user can write or replace a directory, or a directory or link on its path. ssh checks its own directories
 * in the same way.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs"
import { dirname, join, parse, resolve, sep } from "node:path"
import { isForeignOwner, rejectUnsafe, type Unsafe, UnsafePath, unsafeOwner } from "./ownership.js"

/** More links than any system follows. A path with more is rejected. */
const maxLinks = 40

/**
 * Throws `UnsafePath` for the first part of the path that is not safe. A missing part is safe, because it is created with access
 * for the user only. Other system errors are thrown unchanged.
 */
export const assertSafeDirectory = (path: string): void => {
  const { root } = parse(path)
  const administrator = lstatSync(root).uid
  let rest = partsOf(path)
  let directory = root
  let links = 0
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const current = join(directory, name)
    const stats = statsOf(current)
    if (stats === undefined) return
    if (stats.isSymbolicLink()) {
      // the mode of a link has no meaning, only its owner
      rejectUnsafe(current, stats, unsafeOwner({ uid: stats.uid, mode: 0 }))
      if (++links > maxLinks) throw new UnsafePath(current, "LINK")
      rest = partsOf(resolve(dirname(current), readlinkSync(current))).concat(rest)
      directory = root
    } else {
      const isLast = rest.length === 0
      rejectUnsafe(current, stats, isLast ? unsafeLast(stats) : unsafeParent(stats, administrator))
      directory = current
    }
  }
}

/** Throws `UnsafePath` if one of these directories in a safe directory exists and is a link, or other users can write it. */
export const assertOwnDirectories = (directory: string, names: ReadonlyArray<string>): void => {
  for (const name of names) {
    const path = join(directory, name)
    const stats = statsOf(path)
    if (stats !== undefined) rejectUnsafe(path, stats, stats.isSymbolicLink() ? "LINK" : unsafeLast(stats))
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

const unsafeLast = (stats: Stats): Unsafe | undefined => (stats.isDirectory() ? unsafeOwner(stats) : undefined)

const sticky = 0o1000
const groupWrites = 0o020

/**
 * Why a parent directory is unsafe; undefined if it is not. In a sticky directory, such as `/tmp`, only the owner of a file can
 * replace it. The user's own group may write a parent: many systems give each user a group of its own with write access.
 */
const unsafeParent = (stats: Stats, administrator: number): Unsafe | undefined => {
  const { gid, mode, uid } = stats
  if (uid !== administrator && isForeignOwner(uid)) return "NOT_OWNED"
  if ((mode & sticky) !== 0) return undefined
  const isOwnGroup = gid === process.getegid?.() || gid === 0
  return unsafeOwner({ uid: 0, mode: isOwnGroup ? mode & ~groupWrites : mode })
}
