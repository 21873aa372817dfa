import { existsSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as Control from "../../src/Control.js"
import { temporary } from "./support/control.js"

const start = (options: Control.ServeOptions) =>
  Effect.map(Layer.build(Control.layer({ port: 0, watch: false, ...options })), (context) => ({
    context,
    server: Context.get(context, Control.ControlServer.ControlServer)
  }))

describe("the one supervisor of a state directory", () => {
  it.scopedLive("can be found, asked by its socket, and is gone at its end", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const host = { cwd: directory, stateDir: join(directory, "state"), files: [] }
      assert.deepStrictEqual(yield* Control.locate(host), { _tag: "Nobody" })
      const scope = yield* Scope.make()
      const { server } = yield* Scope.extend(start(host), scope)
      const found = yield* Control.locate(host)
      assert.strictEqual(found._tag, "Running")
      if (found._tag !== "Running") return
      assert.strictEqual(found.daemon.address, server.address)
      assert.strictEqual(found.daemon.pid, process.pid)
      assert.strictEqual(found.daemon.socket, join(host.stateDir, "control.sock"))
      assert.strictEqual(statSync(join(host.stateDir, "control-token")).mode & 0o777, 0o600)
      const client = yield* Control.connect(found.daemon, host)
      assert.deepStrictEqual(yield* client.system.health({}), { version: "0.1.0", api: 1 })
      const second = yield* Effect.flip(Effect.scoped(start(host)))
      assert.strictEqual(second._tag, "AlreadyRunning")
      assert.include(second.message, String(process.pid))
      assert.include(second.message, server.address)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* Control.locate(host), { _tag: "Nobody" })
      assert.isFalse(existsSync(join(host.stateDir, "daemon.json")))
      assert.isFalse(existsSync(join(host.stateDir, "control.sock")))
      writeFileSync(join(directory, "x"), "")
    }))
})
