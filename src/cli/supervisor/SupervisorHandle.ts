/**
 * The interface through which commands use a supervisor, either the running one or one of their own.
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Catalog } from "../../domain/catalog/Catalog.js"
import type { Plan } from "../../domain/server/Plan.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { ServerEvent } from "../../domain/server/ServerEvent.js"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import type { ServerStatus } from "../../domain/server/ServerStatus.js"
import type { LoginStatus } from "../../auth/McpAuth.js"

/** An error with a tag for programs and a message that says what to do next. */
export interface HandleFailure {
  readonly _tag: string
  readonly message: string
}

export type HandleEffect<A> = Effect.Effect<A, HandleFailure>

export interface LoginResult {
  readonly server: string
  readonly login: LoginStatus
  readonly status: ServerStatus
}

/** A tool by its public name, or by its server and the server's own name for it. */
export interface ToolRef {
  readonly name: string
  readonly server?: string | undefined
}

export interface SupervisorHandle {
  readonly kind: "running" | "standalone"
  /** The directory in which the supervisor was started. It determines the project. */
  readonly cwd: string
  readonly servers: HandleEffect<ReadonlyArray<ServerSnapshot>>
  readonly server: (name: string) => HandleEffect<ServerSnapshot>
  /** The current value first, then each change. */
  readonly changes: Stream.Stream<ReadonlyArray<ServerSnapshot>, HandleFailure>
  readonly catalog: HandleEffect<Pick<Catalog, "tools" | "resources" | "resourceTemplates" | "prompts">>
  readonly call: (
    tool: ToolRef,
    args: Readonly<Record<string, unknown>>,
    onProgress: (progress: Protocol.Progress) => Effect.Effect<void>
  ) => HandleEffect<Protocol.CallToolResult>
  readonly read: (server: string, uri: string) => HandleEffect<Protocol.ReadResourceResult>
  readonly prompt: (
    server: string,
    name: string,
    args: Readonly<Record<string, string>>
  ) => HandleEffect<Protocol.GetPromptResult>
  readonly connect: (name: string) => HandleEffect<ServerStatus>
  readonly restart: (name: string) => HandleEffect<ServerStatus>
  readonly disconnect: (name: string) => HandleEffect<void>
  readonly reload: HandleEffect<Plan>
  readonly logins: HandleEffect<ReadonlyArray<LoginResult>>
  readonly startLogin: (name: string) => HandleEffect<{ readonly authorizationUrl: string }>
  readonly finishLogin: (name: string, callback: string) => HandleEffect<ServerStatus>
  readonly logout: (name: string) => HandleEffect<void>
  /** The stored lines, then, with `follow`, each new one. */
  readonly logs: (name: string, follow: boolean) => Stream.Stream<Protocol.LogLine, HandleFailure>
  readonly events: (options: {
    readonly follow: boolean
    /** Whether the stored events come first. */
    readonly replay: boolean
  }) => Stream.Stream<ServerEvent, HandleFailure>
}
