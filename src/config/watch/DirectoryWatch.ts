/**
 * Reports when one of a set of files may have changed. Directories are watched instead of files: editors and tools replace
 * a file by a new one, and a watch of the old file reports nothing more.
 */
import { type FSWatcher, type Stats, watch as watchDirectory } from "node:fs"
import { lstat, readlink } from "node:fs/promises"
import { basename, dirname, join, parse, resolve, sep } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { timeoutWhileRunning } from "../../system/budget.js"

/** A name to watch in a directory. */
interface Point {
  readonly directory: string
  readonly name: string
}

export interface DirectoryWatch {
  /** Sets the watched paths. Returns whether one of them was not watched before: it may have changed already. */
  readonly update: (paths: ReadonlyArray<string>) => Effect.Effect<boolean>
  /** Whether a directory cannot be watched and must be polled. */
  readonly needsPolling: () => boolean
}

interface Watched {
  readonly watcher: FSWatcher
  readonly identity: string
  names: ReadonlySet<string>
}

/** How long the file system may take to resolve the paths. */
const budget = "5 seconds"

export const make = (
  onChange: () => void,
  /** Defaults to `fs.watch`. */
  watch: typeof watchDirectory = watchDirectory,
  /** Reads the metadata of a path. Defaults to `lstat`. */
  statsOf: StatsOf = lstat
): Effect.Effect<DirectoryWatch, never, Scope.Scope> =>
  Effect.gen(function* () {
    const all = new Map<string, Watched>()
    let needsPolling = false
    let closed = false
    let latest = 0

    const close = (directory: string) => {
      all.get(directory)?.watcher.close()
      all.delete(directory)
    }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        for (const directory of all.keys()) close(directory)
      })
    )

    /** Watches a directory. Returns whether that succeeded. */
    const open = (directory: string, identity: string, names: ReadonlySet<string>): boolean => {
      try {
        const watcher = watch(directory, { persistent: false }, (_event, name) => {
          // some systems do not report the name
          if (name === null || name === basename(directory)) lose()
          else if (all.get(directory)?.names.has(name)) onChange()
        })
        // A directory that is moved or removed is reported by its own name. Its watch must not be kept: the directory that
        // takes its place can have the same inode, and then only this report tells them apart.
        const lose = () => {
          if (all.get(directory)?.watcher !== watcher) return
          close(directory)
          onChange()
        }
        watcher.on("error", lose)
        all.set(directory, { watcher, identity, names })
        return true
      } catch {
        // the number of watches is limited, and some file systems support none
        return false
      }
    }

    /** Returns whether a new directory is watched; `undefined` if a later update replaced this one. */
    const update = async (paths: ReadonlyArray<string>, number: number): Promise<boolean | undefined> => {
      const isObsolete = () => closed || number !== latest
      const look = looking(statsOf)
      const points = (await Promise.all(paths.map((path) => pointsOf(look, path)))).flat()
      if (isObsolete()) return undefined
      const namesByDirectory = new Map<string, Set<string>>()
      for (const { directory, name } of points)
        namesByDirectory.set(directory, (namesByDirectory.get(directory) ?? new Set()).add(name))
      let isNew = false
      let isUnwatched = false
      for (const directory of all.keys()) if (!namesByDirectory.has(directory)) close(directory)
      for (const [directory, names] of namesByDirectory) {
        const found = await look(directory)
        const identity = found === undefined ? "" : `${found.dev}:${found.ino}`
        if (isObsolete()) return undefined
        const present = all.get(directory)
        if (present !== undefined && present.identity === identity) present.names = names
        else {
          close(directory)
          if (!open(directory, identity, names)) isUnwatched = true
          isNew = true
        }
      }
      needsPolling = isUnwatched
      return isNew
    }

    return {
      update: (paths) =>
        Effect.suspend(() => {
          const number = (latest += 1)
          let isLate = false
          const updated = Effect.promise(async () => {
            const isNew = await update(paths, number).catch(() => undefined)
            // the caller timed out, so the result is reported as a change
            if (isLate && isNew !== undefined) onChange()
            return isNew ?? false
          })
          return updated.pipe(
            timeoutWhileRunning(budget),
            Effect.map(
              Option.getOrElse(() => {
                isLate = true
                needsPolling = true
                return false
              })
            )
          )
        }),
      needsPolling: () => needsPolling
    }
  })

type Look = (
  path: string
) => Promise<{ readonly dev: number; readonly ino: number; readonly link: boolean } | undefined>

type StatsOf = (path: string) => Promise<Pick<Stats, "dev" | "ino" | "isSymbolicLink">>

/** Returns a function that reads the metadata of each path once. */
const looking = (statsOf: StatsOf): Look => {
  const seen = new Map<string, ReturnType<Look>>()
  return (path) => {
    const found =
      seen.get(path) ??
      statsOf(path).then(
        (stats) => ({ dev: stats.dev, ino: stats.ino, link: stats.isSymbolicLink() }),
        () => undefined
      )
    seen.set(path, found)
    return found
  }
}

/** More links than any system follows. */
const maxLinks = 40

/**
 * The places where a change of a path is visible: the file in its directory, that directory in its parent, every link on the
 * way (a mounted configuration is changed by retargeting a link), and the first part of the path that does not exist yet.
 */
const pointsOf = async (look: Look, path: string, links = 0): Promise<ReadonlyArray<Point>> => {
  const { root } = parse(path)
  const parts = path.slice(root.length).split(sep)
  const points: Array<Point> = []
  let directory = root
  for (const [index, name] of parts.entries()) {
    const here = join(directory, name)
    const found = await look(here)
    if (found === undefined) return [...points, { directory, name }]
    if (found.link && links < maxLinks) {
      const target = await readlink(here).catch(() => undefined)
      if (target === undefined) return [...points, { directory, name }]
      const onward = join(resolve(dirname(here), target), ...parts.slice(index + 1))
      return [...points, { directory, name }, ...(await pointsOf(look, onward, links + 1))]
    }
    if (index >= parts.length - 2) points.push({ directory, name })
    directory = here
  }
  return points
}
