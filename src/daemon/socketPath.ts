/**
 * Chooses and prepares the path of the Unix socket of a state directory.
 */
import { createHash } from "node:crypto"
import { lstat, rm } from "node:fs/promises"
import { tmpdir, userInfo } from "node:os"
import { isAbsolute, join } from "node:path"
import * as Effect from "effect/Effect"
import { makeDirectory } from "../system/files/wholeFile.js"

/** The longest socket path in bytes. The system silently truncates a longer path, which then names another socket. */
const maxPathBytes = 103

export interface SocketLocation {
  readonly path: string
  /** The directory that must belong to this user alone, if the socket is not in the state directory. */
  readonly directory?: string | undefined
}

/** The first location whose path is short enough. `undefined` on platforms without Unix sockets. */
export const choose = (
  stateDir: string,
  system: {
    readonly platform: NodeJS.Platform
    readonly runtimeDir: string | undefined
    readonly temporary: string
    readonly user: number
  }
): SocketLocation | undefined => {
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

const fits = (path: string): boolean => Buffer.byteLength(path) <= maxPathBytes

const locationOf = (stateDir: string, user: number): SocketLocation | undefined =>
  choose(stateDir, {
    platform: process.platform,
    runtimeDir: process.env.XDG_RUNTIME_DIR,
    temporary: tmpdir(),
    user
  })

/** Milliseconds since a supervisor of this state directory began to listen; `undefined` if none did. */
export const age = (stateDir: string): Effect.Effect<number | undefined> =>
  Effect.tryPromise(async () => {
    const location = locationOf(stateDir, userInfo().uid)
    return location === undefined ? undefined : Date.now() - (await lstat(location.path)).mtimeMs
  }).pipe(Effect.orElseSucceed(() => undefined))

/**
 * Returns the socket path after removing a leftover socket. The caller must hold the lock of the state directory, so that a
 * socket at this path is of a dead process. `undefined` if no directory belongs to this user alone.
 */
export const prepare = (stateDir: string): Effect.Effect<string | undefined> =>
  Effect.tryPromise(async () => {
    const user = userInfo().uid
    const location = locationOf(stateDir, user)
    if (location === undefined) return undefined
    if (location.directory !== undefined) {
      await makeDirectory(location.directory)
      const stats = await lstat(location.directory)
      if (!stats.isDirectory() || stats.uid !== user || (stats.mode & 0o077) !== 0) return undefined
    }
    await rm(location.path, { force: true })
    return location.path
  }).pipe(Effect.orElseSucceed(() => undefined))
