import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import { provided } from "../support/live.js"
import { connect, eventually, faulty, groupOf, local, processesWith } from "../support/session.js"

const node = process.execPath
const sh = (...args: ReadonlyArray<string>) => ({
  type: "local" as const,
  command: ["sh", "-c", `"${node}" "${faulty}" ${args.join(" ")}; exit $?`]
})
const npxLike = (...args: ReadonlyArray<string>) => ({
  type: "local" as const,
  command: [
    node,
    "-e",
    `const child = require("node:child_process").spawn("sh", ["-c", ${JSON.stringify(`"${node}" "${faulty}" ${args.join(" ")}; exit $?`)}], { stdio: "inherit" }); child.on("exit", (code) => process.exit(code ?? 1))`
  ]
})

describe.concurrent("closing the scope of a local server", () => {
  const rows = [
    ["direct", local(), 1, 1000],
    ["sh wrapper", sh(), 2, 1000],
    ["npx-like", npxLike(), 3, 1000],
    ["direct, ignores EOF", local("ignore-eof"), 1, 3000],
    ["sh wrapper, ignores EOF", sh("ignore-eof"), 2, 3000],
    ["npx-like, ignores EOF", npxLike("ignore-eof"), 3, 3000],
    ["direct, ignores EOF and SIGTERM", local("ignore-eof", "ignore-term"), 1, 4500],
    ["sh wrapper, ignores EOF and SIGTERM", sh("ignore-eof", "ignore-term"), 2, 4500],
    ["npx-like, ignores EOF and SIGTERM", npxLike("ignore-eof", "ignore-term"), 3, 4500],
    ["with a grandchild that holds its pipes", local("grandchild"), 2, 3000],
    ["with a grandchild that ignores SIGTERM", local("stubborn-grandchild"), 2, 4500]
  ] as const

  for (const [name, config, processes, budget] of rows) {
    it.live(`leaves no process: ${name}`, () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const session = yield* connect(config).pipe(Scope.extend(scope))
        const leader = session.info.pid!
        yield* eventually(() => groupOf(leader).length === processes)
        const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
        assert.deepStrictEqual(groupOf(leader), [])
        // a limit, not a measurement: the steps of the shutdown and a second
        assert.isBelow(Duration.toMillis(took), budget + 25_000)
      }).pipe(provided)
    )
  }

  it.live("takes one budget for twenty servers that ignore signals, also if they are connecting", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const pids = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => Effect.map(connect(local("ignore-eof", "ignore-term")), ({ info }) => info.pid!),
        { concurrency: 10 }
      ).pipe(Scope.extend(scope))
      const hanging = yield* Effect.forEach(Array.from({ length: 10 }), () =>
        Effect.fork(connect(local("hang", "ignore-eof", "ignore-term", "hanging-twenty")).pipe(Scope.extend(scope)))
      )
      yield* eventually(() => processesWith("hanging-twenty").length === 10)
      const [took] = yield* Effect.timed(Effect.zipRight(Fiber.interruptAll(hanging), Scope.close(scope, Exit.void)))
      assert.deepStrictEqual(pids.flatMap(groupOf), [])
      assert.deepStrictEqual(processesWith("hanging-twenty"), [])
      assert.isBelow(Duration.toMillis(took), 20_000)
    }).pipe(provided)
  )
})

describe("an attempt that fails", () => {
  it.live("leaves no process after any number of attempts in one scope", () =>
    Effect.gen(function* () {
      const config = { ...local("hang", "ignore-eof", "fails-in-a-scope"), timeout: { connect: 200 } }
      yield* Effect.flip(Effect.retry(connect(config), { times: 2 }))
      assert.deepStrictEqual(processesWith("fails-in-a-scope"), [])
    }).pipe(provided)
  )
})

describe("interrupting an attempt", () => {
  it.live("returns at once during a handshake that hangs, and closing leaves no process", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const fiber = yield* Effect.fork(connect(local("hang", "hung-handshake")).pipe(Scope.extend(scope)))
      yield* eventually(() => processesWith("hung-handshake").length === 1)
      const [took] = yield* Effect.timed(Fiber.interrupt(fiber))
      assert.isBelow(Duration.toMillis(took), 15_000)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(processesWith("hung-handshake"), [])
    }).pipe(provided)
  )
})
