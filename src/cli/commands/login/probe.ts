/**
 * One server, connected once, step by step.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Auth from "../../../auth/Auth.js"
import * as CredentialStore from "../../../auth/CredentialStore.js"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import * as Connector from "../../../connection/Connector.js"
import * as FileChildLedger from "../../../connection/process/FileChildLedger.js"
import * as Errors from "../../../domain/Errors.js"
import { nearest } from "../../../domain/internal/nearest.js"
import * as Secrets from "../../../domain/Secrets.js"
import * as ServerConfig from "../../../domain/server/ServerConfig.js"
import type { AttemptPhase } from "../../../domain/server/ServerStatus.js"
import { notApproved } from "../../failure.js"
import type { hostOf } from "../../supervisor/commandHost.js"
import { withoutName } from "../../show/showServers.js"

export interface Step {
  readonly phase: string
  readonly ok: boolean
  readonly ms?: number | undefined
  readonly detail: string
}

export interface Report {
  readonly server: string
  readonly usable: boolean
  readonly steps: ReadonlyArray<Step>
  /** What to do next, in one sentence. */
  readonly advice: string
}

export interface Subject {
  readonly name: string
  readonly config: ServerConfig.ServerConfig
  readonly isDisabled: boolean
}

/** The server as its config has it, also one that is switched off. Fails where nobody may connect to it. */
export const find = (name: string, host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    const { desired } = yield* ConfigFiles.loadOnce(host)
    const { servers = {}, unreadable = {}, untrusted = [] } = desired
    if (Object.hasOwn(unreadable, name)) return yield* unreadable[name]!
    if (untrusted.includes(name)) return yield* notApproved(name)
    if (!Object.hasOwn(servers, name)) {
      return yield* new Errors.ServerNotFound({ server: name, nearest: nearest(name, Object.keys(servers)) })
    }
    const decoded = yield* Either.match(ServerConfig.decode(name, servers[name]!), {
      onLeft: Effect.fail,
      onRight: Effect.succeed
    })
    if (Option.isNone(decoded.config)) return yield* new Errors.ServerNotFound({ server: name })
    const config = decoded.config.value
    return { name, config, isDisabled: !config.enabled } satisfies Subject
  })

/** Connects, lists, pings and leaves. Each step is told as it is done. */
export const probe = (
  { config, isDisabled, name }: Subject,
  stateDir: string,
  onStep: (step: Step) => Effect.Effect<void>
): Effect.Effect<Report> =>
  Effect.gen(function* () {
    const steps: Array<Step> = []
    // what a server lists may repeat what it was given
    const scrub = Secrets.scrub(ServerConfig.secrets(config))
    let from = yield* Clock.currentTimeMillis
    const done = (phase: string, ok: boolean, detail: string) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const step = { phase, ok, ms: now - from, detail: scrub(detail) }
        from = now
        steps.push(step)
        yield* onStep(step)
      })
    yield* done("config", true, `${kindOf(config)}${isDisabled ? ", disabled; tested all the same" : ""}`)

    let phase: AttemptPhase = config._tag === "Local" ? "spawn" : "handshake"
    const connector = yield* Connector.Connector
    const auth = yield* Auth.make({ onEvent: () => {}, onChange: () => {} })
    const credentials = config._tag === "Remote" ? yield* auth.credentialsFor(name, config) : undefined
    const opened = yield* Effect.either(
      connector.connect({
        server: name,
        config,
        credentials,
        onPhase: (next) =>
          Effect.gen(function* () {
            if (phase === "spawn" && next === "handshake") yield* done("spawn", true, "started")
            phase = next
          })
      })
    )
    if (Either.isLeft(opened)) {
      yield* done(phase, false, withoutName(name, opened.left.message))
      return { server: name, usable: false, steps, advice: adviceFor(name, opened.left) }
    }
    const session = opened.right
    const { capabilities, era, pid, protocolVersion, serverInfo, transport } = session.info
    const who = serverInfo === undefined ? "a server without a name" : `${serverInfo.name} ${serverInfo.version}`
    yield* done("handshake", true, `${who} over ${transport}${pid === undefined ? "" : `, pid ${pid}`}`)
    yield* done("era", true, `${era}, protocol ${protocolVersion}`)
    yield* done("capabilities", true, Object.keys(capabilities).join(", ") || "none")

    const lists = [
      ["tools", session.listTools],
      ["resources", session.listResources],
      ["prompts", session.listPrompts]
    ] as const
    let tools: ReadonlyArray<{ readonly name: string }> = []
    for (const [list, fetch] of lists) {
      const found = yield* Effect.either(fetch as Effect.Effect<Listed, Errors.CallError>)
      if (Either.isLeft(found)) {
        yield* done(list, false, withoutName(name, found.left.message))
        return {
          server: name,
          usable: false,
          steps,
          advice: `${name} connects but cannot list its ${list}: see its log`
        }
      }
      if (list === "tools") tools = found.right.items
      const left = found.right.diagnostics.length
      yield* done(
        list,
        true,
        `${found.right.items.length}${left === 0 ? "" : `, ${left} left out: ${found.right.diagnostics[0]!.message}`}`
      )
    }
    const ping = yield* Effect.exit(session.probe("5 seconds"))
    yield* done("ping", Exit.isSuccess(ping), Exit.isSuccess(ping) ? "answered" : "no answer within 5 s")
    const usable = Exit.isSuccess(ping)
    const advice = usable
      ? praise(name, tools)
      : `${name} connects but does not answer a ping: it may hang; see its log`
    return { server: name, usable, steps, advice: scrub(advice) }
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.provideMerge(
        Connector.layer(),
        Layer.mergeAll(FileChildLedger.layer(stateDir), CredentialStore.layerFile(stateDir))
      )
    )
  )

interface Listed {
  readonly items: ReadonlyArray<{ readonly name: string }>
  readonly diagnostics: ReadonlyArray<{ readonly message: string }>
}

const kindOf = (config: ServerConfig.ServerConfig): string => (config._tag === "Local" ? "local" : "remote")

const praise = (name: string, tools: ReadonlyArray<{ readonly name: string }>): string => {
  const [first] = tools
  return first === undefined
    ? `${name} works, but offers no tools`
    : `${name} works; call a tool with: mcp-supervisor call ${name}/${first.name} '{…}'`
}

/** Most errors end with what to do; these have something better. */
const adviceFor = (name: string, error: Errors.ConnectionError): string => {
  switch (error._tag) {
    case "AuthRequired":
      return error.login ? `${name} wants a login: mcp-supervisor auth ${name}` : `${name}: ${error.hint}`
    case "RegistrationRequired":
      return `${name}: ${error.hint}`
    case "ConnectTimeout":
      return `${name} gave no answer within ${error.after} ms: if it only needs longer, raise its "timeout"`
    default:
      return error.message
  }
}
