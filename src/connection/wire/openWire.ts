/**
 * Opens the stdio wire of a local config, and makes the HTTP options of a remote config.
 */
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { type ConnectionError, NetworkFailed, UnexpectedFailure } from "../../domain/Errors.js"
import { reveal } from "../../domain/Secrets.js"
import { allowsLogin, type Local, type Remote } from "../../domain/server/ServerConfig.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"
import * as CredentialFailure from "../http/credentialFailure.js"
import type { Credentials } from "../Credentials.js"
import type { ConnectorContext } from "../ConnectorContext.js"
import { authorized, type Start } from "../http/HttpAuthorized.js"
import type { HttpClient } from "../http/HttpClient.js"
import type { Options as HttpOptions } from "../http/HttpWire.js"
import type { ProcessLog } from "../stdio/ProcessLog.js"
import * as StdioCommand from "../stdio/StdioCommand.js"
import * as StdioWire from "../stdio/StdioWire.js"
import type { WireEvents } from "./Wire.js"

interface WireContext {
  readonly server: string
  readonly scrub: (text: string) => string
  readonly scrubBeginning: (text: string) => string
  readonly events: WireEvents
}

export const openStdio = (
  host: ConnectorContext,
  config: Local,
  context: WireContext & {
    readonly processLog: ProcessLog
    readonly phase: () => AttemptPhase | undefined
  }
) =>
  Effect.gen(function* () {
    const facts = { env: process.env, platform: process.platform, path: yield* host.loginPath }
    const tag = yield* host.nextTag
    const env = StdioCommand.environment(config, facts, tag)
    return yield* StdioWire.open({
      server: context.server,
      scrub: context.scrub,
      events: context.events,
      phase: context.phase,
      log: context.processLog,
      command: reveal(config.command),
      args: config.args.map(reveal),
      cwd: config.cwd,
      env,
      searched: StdioCommand.searchedPath(env, process.platform) ?? "no directory: PATH is not set",
      tag,
      groups: host.groups,
      strays: host.strays
    })
  })

export const httpOptions = (
  host: ConnectorContext,
  config: Remote,
  context: WireContext & { readonly credentials: Credentials | undefined }
): Effect.Effect<HttpOptions, ConnectionError, Scope.Scope> => {
  const address = reveal(config.url)
  if (!/^https?:/i.test(address) || !URL.canParse(address)) {
    return Effect.fail(new NetworkFailed({ server: context.server, code: "ERR_INVALID_URL", permanent: true }))
  }
  const url = new URL(address)
  const headers = Object.fromEntries(Object.entries(config.headers).map(([name, value]) => [name, reveal(value)]))
  const { credentials } = context
  const plain = host.http.client(context.server, config.caFile)
  return Effect.map(credentials === undefined ? plain : showing(context, credentials, plain), (client) => ({
    ...context,
    url,
    client,
    headers: { ...basicAuth(url), ...headers },
    userAgent: `${host.clientInfo.name}/${host.clientInfo.version}`.replace(/[^\x21-\x7e]/g, "_"),
    login: allowsLogin(config)
  }))
}

/** A client that sends the credentials. They are prepared first; later refreshes are interrupted when the scope closes. */
const showing = <E>(
  { scrub, server }: Pick<WireContext, "scrub" | "server">,
  credentials: Credentials,
  plain: Effect.Effect<HttpClient, E>
) =>
  Effect.gen(function* () {
    const client = yield* plain
    yield* Effect.mapError(credentials.prepare, CredentialFailure.scrubbed(scrub))
    const run = yield* FiberSet.makeRuntime<never>()
    const start: Start = (effect, done) => {
      const fault = () =>
        Effect.fail(new UnexpectedFailure({ server, detail: "its credentials could not be looked up" }))
      const outcome = Effect.match(Effect.catchAllDefect(effect, fault), {
        onSuccess: () => undefined,
        onFailure: (failure) => failure
      })
      const fiber = run(Effect.map(outcome, done))
      return () => fiber.unsafeInterruptAsFork(FiberId.none)
    }
    return authorized(client, credentials, start)
  })

/** The user and password of a URL as a header of basic authentication. */
const basicAuth = ({ password, username }: URL): Record<string, string> =>
  username === "" && password === ""
    ? {}
    : {
        authorization: `Basic ${Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString("base64")}`
      }

/** A password may hold a percent sign that escapes nothing. */
const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
