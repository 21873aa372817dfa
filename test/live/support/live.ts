import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as Connector from "../../../src/connection/Connector.js"

/** A test with real servers, with its own scope and connector. */
export const live = (
  name: string,
  test: Effect.Effect<unknown, unknown, Connector.Connector | Scope.Scope>,
  timeout?: number
) => it.live(name, () => provided(test), timeout)

export const provided = <A, E>(test: Effect.Effect<A, E, Connector.Connector | Scope.Scope>) =>
  test.pipe(Effect.scoped, Effect.provide(Connector.layer()))
