/**
 * The types that describe a fake server, and the handles with which a test controls it.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { ConnectOptions } from "../../connection/Connector.js"
import type * as Session from "../../connection/Session.js"
import type * as Errors from "../../domain/Errors.js"
import type * as Listing from "../../domain/catalog/Listing.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"

/**
 * The response of a fake server: a value responds immediately, an Effect when it completes, and a function decides for each
 * request. `Effect.never` hangs until the caller gives up or the test answers.
 *
 * @since 0.1.0
 * @category models
 */
export type Answer<A, E = Session.RequestError> = A | Effect.Effect<A, E> | ((call: Call<A>) => A | Effect.Effect<A, E>)

/**
 * The responses by name of the tool or prompt, or by URI; or one function for all of them.
 *
 * @since 0.1.0
 * @category models
 */
export type Answers<A> =
  | Readonly<Record<string, Answer<A>>>
  | ((call: Call<A>) => A | Effect.Effect<A, Session.RequestError>)

/**
 * A list, or a listing with diagnostics as a session returns it.
 *
 * @since 0.1.0
 * @category models
 */
export type List<Input, Item> = Answer<ReadonlyArray<Input> | Listing.Listing<Item>>

/**
 * A tool. A string is the name of a tool without arguments.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolInput = string | (Partial<Listing.ListedTool> & { readonly name: string })

/**
 * A resource; its name defaults to its URI.
 *
 * @since 0.1.0
 * @category models
 */
export type ResourceInput = string | (Partial<Listing.ListedResource> & { readonly uri: string })

/**
 * A resource template; its name defaults to its URI template.
 *
 * @since 0.1.0
 * @category models
 */
export type ResourceTemplateInput =
  | string
  | (Partial<Listing.ListedResourceTemplate> & { readonly uriTemplate: string })

/**
 * A prompt. A string is the name of a prompt without arguments.
 *
 * @since 0.1.0
 * @category models
 */
export type PromptInput = string | (Partial<Listing.ListedPrompt> & { readonly name: string })

/**
 * The description of a fake server. If a list is absent when the server opens, the server lacks this capability; `[]` is an
 * empty list.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerOptions {
  /**
   * Overrides the result of the handshake. Defaults to revision 2025-11-25, with the capabilities that the other options need.
   */
  readonly info?: Partial<Session.Info> | undefined
  readonly tools?: List<ToolInput, Listing.ListedTool> | undefined
  readonly resources?: List<ResourceInput, Listing.ListedResource> | undefined
  readonly resourceTemplates?: List<ResourceTemplateInput, Listing.ListedResourceTemplate> | undefined
  readonly prompts?: List<PromptInput, Listing.ListedPrompt> | undefined
  /** The results by tool. A listed tool without an entry returns its name; an unlisted one fails with `InvalidParams`. */
  readonly calls?: Answers<Protocol.CallToolResult> | undefined
  /**
   * The results by URI. A listed resource without an entry has its URI as text; an unlisted one fails with `ResourceNotFound`.
   */
  readonly reads?: Answers<Protocol.ReadResourceResult> | undefined
  /** The results by prompt. A listed prompt without an entry has no messages; an unlisted one fails with `InvalidParams`. */
  readonly gets?: Answers<Protocol.GetPromptResult> | undefined
  /** The result of completions. If absent, the server does not support them. */
  readonly completes?: Answer<Protocol.CompleteResult> | undefined
  /** The response to a subscription. Defaults to success. */
  readonly subscribes?: Answer<void> | undefined
  /** The response to a probe. Defaults to an immediate success; `Effect.never` makes the probe time out. */
  readonly probe?: Effect.Effect<void, Errors.ConnectionError> | undefined
  /** The initial state of the push channel. Defaults to `open`; {@link Attempt.setPush} changes it later. */
  readonly push?: Protocol.Push | undefined
  /** The output besides messages. Defaults to none. */
  readonly output?: { readonly stderr?: string | undefined; readonly strayLines?: number | undefined } | undefined
  /** The time the scope of the attempt takes to close, whatever its result. Defaults to none. */
  readonly closeTakes?: Duration.DurationInput | "forever" | undefined
}

/**
 * The result of one attempt to connect. Created by `open`, `fail`, `failAfter`, `hang`, `openThenCrash` and `byHand`.
 *
 * @since 0.1.0
 * @category models
 */
export type Behaviour =
  | {
      readonly _tag: "Open"
      readonly after: Duration.DurationInput
      readonly server: ServerOptions
      readonly crash?: { readonly after: Duration.DurationInput; readonly error: Errors.ConnectionError } | undefined
    }
  | {
      readonly _tag: "Fail"
      readonly after: Duration.DurationInput
      readonly error: Errors.ConnectionError
      readonly server: ServerOptions
    }
  | { readonly _tag: "Wait"; readonly server: ServerOptions }

/**
 * The behaviours of one server by attempt; the last one repeats. A function receives the number of the attempt, from 1.
 *
 * @since 0.1.0
 * @category models
 */
export type Script = Behaviour | ReadonlyArray<Behaviour> | ((attempt: number) => Behaviour)

/**
 * A request that a fake server has received.
 *
 * @since 0.1.0
 * @category handles
 */
export interface Call<A> {
  /** The number among all requests of the fake, as in the journal. */
  readonly id: number
  readonly server: string
  readonly attempt: number
  /** The method, such as `tools/call`. */
  readonly method: string
  /** The tool, prompt or URI. */
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  /** Reports progress, which restarts the idle clock. */
  readonly progress: (report: Protocol.Progress) => Effect.Effect<void>
  /** Asks the person, while the clocks of all calls are held. */
  readonly elicit: (request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult, Errors.ProtocolError>
  /** Asks the language model, while the clocks of all calls are held. */
  readonly sample: (request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult, Errors.ProtocolError>
  /** Answers the call. Returns false if it is already settled. */
  readonly answer: (result: A) => Effect.Effect<boolean>
  /** Fails the call. Returns false if it is already settled. */
  readonly fail: (error: Session.RequestError) => Effect.Effect<boolean>
}

/**
 * One attempt to connect and its session. An action that comes too late changes nothing and returns false.
 *
 * @since 0.1.0
 * @category handles
 */
export interface Attempt {
  readonly server: string
  /** The number of the attempt for this server, from 1. */
  readonly number: number
  /** The options that `connect` received. */
  readonly options: ConnectOptions
  /** The stage. `over`: the attempt failed or was abandoned, or the session crashed or was closed. */
  readonly stage: Effect.Effect<"opening" | "open" | "over">

  /** Reports a phase while the attempt is opening. */
  readonly phase: (phase: AttemptPhase) => Effect.Effect<boolean>
  readonly open: (options?: ServerOptions) => Effect.Effect<boolean>
  readonly fail: (error: Errors.ConnectionError) => Effect.Effect<boolean>
  /**
   * Ends an open session from the server's side: pending calls fail with `OutcomeUnknown`. The error defaults to
   * `ConnectionClosed`.
   */
  readonly crash: (error?: Errors.ConnectionError) => Effect.Effect<boolean>

  /** Changes the description of the server. {@link Attempt.listChanged} notifies the client of a changed list. */
  readonly set: (options: ServerOptions) => Effect.Effect<void>
  readonly listChanged: (list: Protocol.ListKind) => Effect.Effect<boolean>
  readonly updateResource: (uri: string) => Effect.Effect<boolean>
  readonly completeElicitation: (elicitationId: string) => Effect.Effect<boolean>
  readonly setPush: (push: Protocol.Push) => Effect.Effect<boolean>
  /** Writes a log line, also while the attempt is opening. Defaults to a line on stderr at the current time. */
  readonly log: (line: string | (Partial<Protocol.LogLine> & { readonly text: string })) => Effect.Effect<void>

  /**
   * Asks the person. Fails with `MethodNotFound` if the client has no handler, and with code -32000 if the session ends
   * meanwhile.
   */
  readonly elicit: (request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult, Errors.ProtocolError>
  readonly sample: (request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult, Errors.ProtocolError>
  /** The current roots. */
  readonly roots: Effect.Effect<ReadonlyArray<Protocol.Root>, Errors.ProtocolError>
}
