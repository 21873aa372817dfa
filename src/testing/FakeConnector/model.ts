/**
 * What a fake server can be told, and what the handles of a test can do.
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
 * What a fake server does with a request: a value is answered at once, an Effect when it is done, a function decides anew
 * each time. `Effect.never` hangs until the caller gives up or the test answers by hand.
 *
 * @since 0.1.0
 * @category models
 */
export type Answer<A, E = Session.RequestError> = A | Effect.Effect<A, E> | ((call: Call<A>) => A | Effect.Effect<A, E>)

/**
 * Answers by the name of the tool or prompt or by URI, or one function for all of them.
 *
 * @since 0.1.0
 * @category models
 */
export type Answers<A> =
  | Readonly<Record<string, Answer<A>>>
  | ((call: Call<A>) => A | Effect.Effect<A, Session.RequestError>)

/**
 * A list, or a listing as a session gives it, with diagnostics.
 *
 * @since 0.1.0
 * @category models
 */
export type List<Input, Item> = Answer<ReadonlyArray<Input> | Listing.Listing<Item>>

/**
 * A tool; a mere name is one without arguments.
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
 * A prompt; a mere name is one without arguments.
 *
 * @since 0.1.0
 * @category models
 */
export type PromptInput = string | (Partial<Listing.ListedPrompt> & { readonly name: string })

/**
 * What a fake server is like. A list that is absent when it opens is one the server does not have, as opposed to `[]`.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerOptions {
  /** Overrides what the handshake tells. Defaults to revision 2025-11-25, with the capabilities that the other options need. */
  readonly info?: Partial<Session.Info> | undefined
  readonly tools?: List<ToolInput, Listing.ListedTool> | undefined
  readonly resources?: List<ResourceInput, Listing.ListedResource> | undefined
  readonly resourceTemplates?: List<ResourceTemplateInput, Listing.ListedResourceTemplate> | undefined
  readonly prompts?: List<PromptInput, Listing.ListedPrompt> | undefined
  /** By tool. A listed tool that is not here answers with its name, another one with `InvalidParams`. */
  readonly calls?: Answers<Protocol.CallToolResult> | undefined
  /** By URI. A listed resource that is not here has its URI as text, another one is `ResourceNotFound`. */
  readonly reads?: Answers<Protocol.ReadResourceResult> | undefined
  /** By prompt. A listed prompt that is not here has no messages, another one is `InvalidParams`. */
  readonly gets?: Answers<Protocol.GetPromptResult> | undefined
  /** Absent is a server that completes nothing. */
  readonly completes?: Answer<Protocol.CompleteResult> | undefined
  /** What happens when somebody subscribes to a resource. Defaults to success. */
  readonly subscribes?: Answer<void> | undefined
  /** What happens to a probe. Defaults to an answer at once; `Effect.never` lets it run into its timeout. */
  readonly probe?: Effect.Effect<void, Errors.ConnectionError> | undefined
  /** Defaults to `open`. Afterwards {@link Attempt.setPush} changes it. */
  readonly push?: Protocol.Push | undefined
  /** What it wrote besides messages. Defaults to nothing. */
  readonly output?: { readonly stderr?: string | undefined; readonly strayLines?: number | undefined } | undefined
  /** How long the scope of the attempt takes to close, whatever became of the attempt. Defaults to no time. */
  readonly closeTakes?: Duration.DurationInput | "forever" | undefined
}

/**
 * What becomes of one attempt to connect. Made by `open`, `fail`, `failAfter`, `hang`, `openThenCrash` and `byHand`.
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
 * The behaviours of one server, attempt by attempt; the last one repeats. A function gets the number of the attempt, from 1.
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
  /** Its number among all requests of the fake, as in the journal. */
  readonly id: number
  readonly server: string
  readonly attempt: number
  /** Such as `tools/call`. */
  readonly method: string
  /** The tool, prompt or URI. */
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  /** Reports progress, which is a sign of life. */
  readonly progress: (report: Protocol.Progress) => Effect.Effect<void>
  /** Asks the person, while the clocks of all calls stand still. */
  readonly elicit: (request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult, Errors.ProtocolError>
  /** Asks the language model, while the clocks of all calls stand still. */
  readonly sample: (request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult, Errors.ProtocolError>
  /** Answers by hand; false if that comes too late. */
  readonly answer: (result: A) => Effect.Effect<boolean>
  /** Fails by hand; false if that comes too late. */
  readonly fail: (error: Session.RequestError) => Effect.Effect<boolean>
}

/**
 * One attempt to connect and the session it leads to. What comes too late changes nothing and returns false.
 *
 * @since 0.1.0
 * @category handles
 */
export interface Attempt {
  readonly server: string
  /** From 1, per server. */
  readonly number: number
  /** What the connector was asked to do. */
  readonly options: ConnectOptions
  /** `over` has failed, was given up, has crashed or was closed. */
  readonly stage: Effect.Effect<"opening" | "open" | "over">

  /** Says how far it is, while it is opening. */
  readonly phase: (phase: AttemptPhase) => Effect.Effect<boolean>
  readonly open: (options?: ServerOptions) => Effect.Effect<boolean>
  readonly fail: (error: Errors.ConnectionError) => Effect.Effect<boolean>
  /** Ends an open session from the server's side: pending calls end with `OutcomeUnknown`. Defaults to `ConnectionClosed`. */
  readonly crash: (error?: Errors.ConnectionError) => Effect.Effect<boolean>

  /** Changes what the server is like from now on. The client learns of a changed list by {@link Attempt.listChanged}. */
  readonly set: (options: ServerOptions) => Effect.Effect<void>
  readonly listChanged: (list: Protocol.ListKind) => Effect.Effect<boolean>
  readonly updateResource: (uri: string) => Effect.Effect<boolean>
  readonly completeElicitation: (elicitationId: string) => Effect.Effect<boolean>
  readonly setPush: (push: Protocol.Push) => Effect.Effect<boolean>
  /** Writes a line, also while opening. Defaults to one on stderr, now. */
  readonly log: (line: string | (Partial<Protocol.LogLine> & { readonly text: string })) => Effect.Effect<void>

  /** Asks the person. `MethodNotFound` if the client has no handler, code -32000 if the session ends meanwhile. */
  readonly elicit: (request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult, Errors.ProtocolError>
  readonly sample: (request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult, Errors.ProtocolError>
  /** The roots as they are now. */
  readonly roots: Effect.Effect<ReadonlyArray<Protocol.Root>, Errors.ProtocolError>
}
