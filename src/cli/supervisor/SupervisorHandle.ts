/**
 * A supervisor within reach: the one that runs in the background, or one of our own for the time of a command.
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

/** Every error of ours has a tag and a sentence that says what to do next. */
export interface HandleFailure {
  readonly _tag: string
  readonly message: string
}

export type Do<A> = Effect.Effect<A, HandleFailure>

export interface Login {
  readonly server: string
  readonly login: LoginStatus
  readonly status: ServerStatus
}

/** A tool by its public name, or by its server and the name that one knows. */
export interface ToolRef {
  readonly name: string
  readonly server?: string | undefined
}

export interface SupervisorHandle {
  readonly kind: "running" | "standalone"
  /** Where the supervisor was started: it decides which project it works in. */
  readonly cwd: string
  readonly servers: Do<ReadonlyArray<ServerSnapshot>>
  readonly server: (name: string) => Do<ServerSnapshot>
  /** The current value first, then each change. */
  readonly changes: Stream.Stream<ReadonlyArray<ServerSnapshot>, HandleFailure>
  readonly catalog: Do<Pick<Catalog, "tools" | "resources" | "resourceTemplates" | "prompts">>
  readonly call: (
    tool: ToolRef,
    args: Readonly<Record<string, unknown>>,
    onProgress: (progress: Protocol.Progress) => Effect.Effect<void>
  ) => Do<Protocol.CallToolResult>
  readonly read: (server: string, uri: string) => Do<Protocol.ReadResourceResult>
  readonly prompt: (
    server: string,
    name: string,
    args: Readonly<Record<string, string>>
  ) => Do<Protocol.GetPromptResult>
  readonly connect: (name: string) => Do<ServerStatus>
  readonly restart: (name: string) => Do<ServerStatus>
  readonly disconnect: (name: string) => Do<void>
  readonly reload: Do<Plan>
  readonly logins: Do<ReadonlyArray<Login>>
  readonly startLogin: (name: string) => Do<{ readonly authorizationUrl: string }>
  readonly finishLogin: (name: string, callback: string) => Do<ServerStatus>
  readonly logout: (name: string) => Do<void>
  /** What is kept, then, if it is followed, what comes. */
  readonly logs: (name: string, follow: boolean) => Stream.Stream<Protocol.LogLine, HandleFailure>
  readonly events: (options: {
    readonly follow: boolean
    /** What is kept, first. */
    readonly replay: boolean
  }) => Stream.Stream<ServerEvent, HandleFailure>
}
