/**
 * Connects to one server once and reports each step.
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
import { withoutName } from "../../../domain/internal/withoutName.js"
import * as Secrets from "../../../domain/Secrets.js"
import * as ServerConfig from "../../../domain/server/ServerConfig.js"
import type { AttemptPhase } from "../../../domain/server/ServerStatus.js"
import { notApproved } from "../../failure.js"
import type { hostOf } from "../../supervisor/commandHost.js"

export interface ProbeStep {
  readonly phase: string
  readonly ok: boolean
  /** The duration in milliseconds. */
  readonly ms?: number | undefined
  readonly detail: string
}

export interface ProbeReport {
  readonly server: string
  readonly usable: boolean
  readonly steps: ReadonlyArray<ProbeStep>
  /** What to do next, in one sentence. */
  readonly advice: string
}

export interface ProbedServer {
  readonly name: string
  readonly config: ServerConfig.ServerConfig
}

/** Finds a server in the config files, also a disabled one. Fails if its config is invalid or not approved. */
export const findServer = Effect.fnUntraced(function* (name: string, host: ReturnType<typeof hostOf>) {
  const { desired } = yield* ConfigFiles.loadOnce(host)
  const { servers = {}, unreadable = {}, untrusted = [] } = desired
  if (Object.hasOwn(unreadable, name)) return yield* unreadable[name]!
  if (untrusted.includes(name)) return yield* notApproved(name)
  if (!Object.hasOwn(servers, name)) {
    return yield* new Errors.ServerNotFound({ server: name, nearest: nearest(name, Object.keys(servers)) })
  }
  const decoded = yield* ServerConfig.decode(name, servers[name]!)
  if (Option.isNone(decoded.config)) return yield* new Errors.ServerNotFound({ server: name })
  return { name, config: decoded.config.value } satisfies ProbedServer
})

/** Connects, lists everything, pings and disconnects. */
export const probe = (
  { config, name }: ProbedServer,
  stateDir: string,
  onStep: (step: ProbeStep) => Effect.Effect<void>
): Effect.Effect<ProbeReport> =>
  Effect.gen(function* () {
    const steps: Array<ProbeStep> = []
    // Errors and lists of a server may repeat the secrets of its config.
    const scrub = Secrets.scrub(ServerConfig.secrets(config))
    let from = yield* Clock.currentTimeMillis
    const report = Effect.fnUntraced(function* (phase: string, ok: boolean, detail: string) {
      const now = yield* Clock.currentTimeMillis
      const step = { phase, ok, ms: now - from, detail: scrub(detail) }
      from = now
      steps.push(step)
      yield* onStep(step)
    })
    const result = (usable: boolean, advice: string): ProbeReport => ({
      server: name,
      usable,
      steps,
      advice: scrub(advice)
    })

    const kind = config._tag === "Local" ? "local" : "remote"
    yield* report("config", true, `${kind}${config.enabled ? "" : ", disabled, but tested anyway"}`)
    const opened = yield* Effect.either(connect({ config, name }, report))
    if (Either.isLeft(opened)) return result(false, adviceFor(name, opened.left))
    const session = opened.right
    const { capabilities, era, pid, protocolVersion, serverInfo, transport } = session.info
    const server = serverInfo === undefined ? "a server without a name" : `${serverInfo.name} ${serverInfo.version}`
    yield* report("handshake", true, `${server} over ${transport}${pid === undefined ? "" : `, pid ${pid}`}`)
    yield* report("era", true, `${era}, protocol ${protocolVersion}`)
    yield* report("capabilities", true, Object.keys(capabilities).join(", ") || "none")

    const lists: ReadonlyArray<readonly [string, Effect.Effect<Listed, Errors.CallError>]> = [
      ["tools", session.listTools],
      ["resources", session.listResources],
      ["prompts", session.listPrompts]
    ]
    let firstTool: string | undefined
    for (const [list, fetch] of lists) {
      const listed = yield* Effect.either(fetch)
      if (Either.isLeft(listed)) {
        yield* report(list, false, withoutName(name, listed.left.message))
        return result(false, `${name} connects but cannot list its ${list}: see its log`)
      }
      const { diagnostics, items } = listed.right
      if (list === "tools") firstTool = items[0]?.name
      const [omitted] = diagnostics
      const rest = omitted === undefined ? "" : `, ${diagnostics.length} omitted: ${omitted.message}`
      yield* report(list, true, `${items.length}${rest}`)
    }
    const responds = Exit.isSuccess(yield* Effect.exit(session.probe("5 seconds")))
    yield* report("ping", responds, responds ? "responded" : "no response within 5 s")
    if (!responds) return result(false, `${name} connects but does not respond to a ping: it may hang; see its log`)
    return firstTool === undefined
      ? result(true, `${name} works, but offers no tools`)
      : result(true, `${name} works; call a tool with: mcp-supervisor call ${name}/${firstTool} '{…}'`)
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.provideMerge(
        Connector.layer(),
        Layer.mergeAll(FileChildLedger.layer(stateDir), CredentialStore.layerFile(stateDir))
      )
    )
  )

/** Opens a session. Reports the start of the process, and the phase that fails. */
const connect = Effect.fnUntraced(function* (
  { config, name }: ProbedServer,
  report: (phase: string, ok: boolean, detail: string) => Effect.Effect<void>
) {
  let phase: AttemptPhase = config._tag === "Local" ? "spawn" : "handshake"
  const connector = yield* Connector.Connector
  const auth = yield* Auth.make({ onEvent: () => {}, onChange: () => {} })
  const credentials = config._tag === "Remote" ? yield* auth.credentialsFor(name, config) : undefined
  const onPhase = Effect.fnUntraced(function* (next: AttemptPhase) {
    if (phase === "spawn" && next === "handshake") yield* report("spawn", true, "started")
    phase = next
  })
  return yield* connector
    .connect({ server: name, config, credentials, onPhase })
    .pipe(Effect.tapError((error) => report(phase, false, withoutName(name, error.message))))
})

interface Listed {
  readonly items: ReadonlyArray<{ readonly name: string }>
  readonly diagnostics: ReadonlyArray<{ readonly message: string }>
}

/** Most error messages end with what to do. These errors have a better advice. */
const adviceFor = (name: string, error: Errors.ConnectionError): string => {
  switch (error._tag) {
    case "AuthRequired":
      return error.login ? `${name} requires a login: mcp-supervisor auth ${name}` : `${name}: ${error.hint}`
    case "RegistrationRequired":
      return `${name}: ${error.hint}`
    case "ConnectTimeout":
      return `${name} did not respond within ${error.after} ms: if it only needs longer, raise its "timeout"`
    default:
      return error.message
  }
}
