/**
 * Configuration from files: what people already have, in layers, explained, edited without harm, and followed while it changes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Desired } from "../domain/Desired.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import type { InvalidConfig } from "../domain/Errors.js"
import type { Plan } from "../domain/Plan.js"
import * as Follow from "./follow.js"
import { type Host, surroundings } from "./Host.js"
import type { LayerKind } from "./Layer.js"
import * as Load from "./load.js"

export type { Host } from "./Host.js"
export type { LayerKind } from "./Layer.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Host {
  /** What the program itself asks for: the lowest layer, taken literally. Defaults to nothing. */
  readonly program?: Load.Program | undefined
}

/**
 * All layers as one configuration.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loaded {
  readonly desired: Desired
  /** What was read, from the lowest to the highest. */
  readonly layers: ReadonlyArray<{
    readonly kind: LayerKind
    /** The file, the address, or the variable. */
    readonly name: string
    /** Servers it declares that nobody has approved of. */
    readonly untrusted: ReadonlyArray<string>
  }>
  /** What a person should know, with the place. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Files of others (the project, the organisation) that are no use and were left out. */
  readonly problems: ReadonlyArray<InvalidConfig>
}

/**
 * Reads all layers. A server whose entry is wrong is in `desired.unreadable`, one that nobody has approved of in
 * `desired.untrusted`; the others are there. Fails if a file of the user's own cannot be read as a document.
 *
 * @since 0.1.0
 * @category loading
 */
export const load = (options: Options = {}): Effect.Effect<Loaded, InvalidConfig> =>
  Effect.map(snapshot(options), (found) => ({
    desired: found.desired,
    layers: found.judged.map(({ content, isTrusted }) => ({
      kind: content.layer.kind,
      name: content.layer.name,
      untrusted: [...content.servers.keys()].filter((name) => !isTrusted(name))
    })),
    diagnostics: found.diagnostics,
    problems: found.broken.size === 0 ? [] : [Load.rejection(found.broken.values())]
  }))

const snapshot = (options: Options): Effect.Effect<Load.Snapshot, InvalidConfig> =>
  Effect.suspend(() => Load.load(surroundings(options), options.program ?? {})).pipe(
    Effect.flatMap((found) => {
      const fatal = Array.from(found.broken).filter(([name]) => !Load.isForeign(found, name))
      if (fatal.length > 0) return Effect.fail(Load.rejection(fatal.map(([, issues]) => issues)))
      return found.desired.rejected === undefined ? Effect.succeed(found) : Effect.fail(found.desired.rejected)
    })
  )

/**
 * What a supervisor would do if it were given what the files say now.
 *
 * @since 0.1.0
 * @category loading
 */
export const plan = (
  supervisor: { readonly plan: (desired: Desired) => Effect.Effect<Plan, InvalidConfig> },
  options: Options = {}
): Effect.Effect<Plan, InvalidConfig> => Effect.flatMap(load(options), ({ desired }) => supervisor.plan(desired))

/**
 * What the files say now, then each change, for `reconcile`. Where they come to be no use, `rejected` says why, and what was
 * before goes on.
 *
 * @since 0.1.0
 * @category watching
 */
export const watch = (options: Options = {}): Stream.Stream<Desired, InvalidConfig> =>
  Stream.unwrapScoped(
    Effect.map(following(options, true), ({ changes, first }) => Stream.concat(Stream.make(first.desired), changes))
  )

/**
 * The same in two parts: what the files say now, and what they will say.
 *
 * @internal
 */
export const following = (options: Options, watch: boolean) =>
  Effect.suspend(() => Follow.follow({ surroundings: surroundings(options), program: options.program ?? {}, watch }))
