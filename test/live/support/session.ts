/** Opens sessions with real servers, and finds the processes that are left. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect, Either, Option, Schedule, type Scope } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import type { Session } from "../../../src/connection/Session.js"
import type * as Errors from "../../../src/domain/Errors.js"
import * as ServerConfig from "../../../src/domain/server/ServerConfig.js"

export const faulty = fileURLToPath(new URL("./faultyServer.mjs", import.meta.url))

export const configOf = (input: ServerConfig.Input): ServerConfig.ServerConfig =>
  Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", input)).config)

/** Connects under the name `it`. */
export const connect = (
  input: ServerConfig.Input,
  options?: Omit<Connector.ConnectOptions, "server" | "config">
): Effect.Effect<Session, Errors.ConnectionError, Connector.Connector | Scope.Scope> =>
  Effect.flatMap(Connector.Connector, (connector) =>
    connector.connect({ server: "it", config: configOf(input), ...options })
  )

export const local = (...args: ReadonlyArray<string>): ServerConfig.Input => ({
  type: "local",
  command: [process.execPath, faulty, ...args]
})

/** The first text of a result. */
export const textOf = (result: { readonly content: ReadonlyArray<object> }): string =>
  (result.content[0] as { readonly text: string }).text

/** The processes of this machine with a mark on their command line, without zombies. */
export const processesWith = (mark: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8")
        return pid !== process.pid && commandLine.includes(mark) && !isZombie(pid)
      } catch {
        return false
      }
    })

const isZombie = (pid: number): boolean => /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))

/** All processes of a group. */
export const groupOf = (leader: number): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, , group] = readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ")
        return Number(group) === leader && !isZombie(pid)
      } catch {
        return false
      }
    })

/** Polls a condition that has no event, for at most 30 seconds. */
export const eventually = (holds: () => boolean): Effect.Effect<void> =>
  Effect.sync(holds).pipe(
    Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutFail({ duration: "50 seconds", onTimeout: () => "it never came to hold" }),
    Effect.orDie
  ) as Effect.Effect<void>
