/**
 * Where the Unix socket of a state directory is.
 */
import { createHash } from "node:crypto"
import { lstat, rm } from "node:fs/promises"
import { tmpdir, userInfo } from "node:os"
import { isAbsolute, join } from "node:path"
import * as Effect from "effect/Effect"
import { makeDirectory } from "../system/wholeFile.js"

/** What a path of a socket may have in bytes. A longer one is cut off without a word, and is another. */
const longest = 103

export interface Place {
  readonly path: string
  /** A directory that has to be ours alone, where it is not the state directory. */
  readonly directory?: string | undefined
}

/** The first place that is short enough. None, where there are no such sockets. */
export const choose = (
  stateDir: string,
  system: {
    readonly platform: NodeJS.Platform
    readonly runtimeDir: string | undefined
    readonly temporary: string
    readonly user: number
  }
): Place | undefined => {
  if (system.platform === "win32") return undefined
  const inside = join(stateDir, "control.sock")
  if (fits(inside)) return { path: inside }
  const name = `${createHash("sha256").update(stateDir).digest("hex").slice(0, 16)}.sock`
  const { runtimeDir = "" } = system
  const directories = [
    ...(isAbsolute(runtimeDir) ? [join(runtimeDir, "mcp-supervisor")] : []),
    join(system.temporary, `mcp-supervisor-${system.user}`)
  ]
  return directories.map((directory) => ({ directory, path: join(directory, name) })).find(({ path }) => fits(path))
}

const fits = (path: string): boolean => Buffer.byteLength(path) <= longest

const placeOf = (stateDir: string, user: number): Place | undefined =>
  choose(stateDir, {
    platform: process.platform,
    runtimeDir: process.env.XDG_RUNTIME_DIR,
    temporary: tmpdir(),
    user
  })

/** Milliseconds since a supervisor of this state directory began to listen; undefined if none did. */
export const age = (stateDir: string): Effect.Effect<number | undefined> =>
  Effect.tryPromise(async () => {
    const place = placeOf(stateDir, userInfo().uid)
    return place === undefined ? undefined : Date.now() - (await lstat(place.path)).mtimeMs
  }).pipe(Effect.orElseSucceed(() => undefined))

/**
 * The path, with nothing in its way. Only for whoever holds the lock of the state directory: what is there was left by
 * somebody who is dead. None, where there is no place that is ours alone.
 */
export const prepare = (stateDir: string): Effect.Effect<string | undefined> =>
  Effect.tryPromise(async () => {
    const user = userInfo().uid
    const place = placeOf(stateDir, user)
    if (place === undefined) return undefined
    if (place.directory !== undefined) {
      await makeDirectory(place.directory)
      const found = await lstat(place.directory)
      if (!found.isDirectory() || found.uid !== user || (found.mode & 0o077) !== 0) return undefined
    }
    await rm(place.path, { force: true })
    return place.path
  }).pipe(Effect.orElseSucceed(() => undefined))
