import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Either, Option } from "effect"
import * as Lifecycle from "../../src/domain/server/Lifecycle.js"
import { ConfigFiles, ServerConfig } from "../../src/index.js"
import * as DecodeConfig from "../../src/supervision/servers/decodeConfig.js"
import { loadFile, onMachine } from "./support.js"

const json = (value: unknown) => JSON.stringify(value)

describe("variables", () => {
  onMachine("are interpolated in every text, and their values are secret", (machine) =>
    Effect.gen(function* () {
      Object.assign(machine.env, { HOST: "h.example.com", TOKEN: "secret-token", DIR: "below", NUMBER: "5000" })
      machine.write("conf/key.txt", "file-secret\r\n")
      const { desired } = yield* loadFile(
        machine,
        "conf/servers.json",
        json({
          mcp: {
            local: {
              command: "{env:DIR}/run",
              args: ["--t=${TOKEN}", "./script.js"],
              env: { A: "{file:key.txt}" },
              timeout: "${NUMBER}"
            },
            placed: { command: "./run", cwd: "${DIR}", roots: ["src", "~/x", "${workspaceFolder}"] },
            remote: {
              url: "https://${env:HOST}/mcp?k=${TOKEN}",
              headers: { Authorization: "Bearer ${TOKEN:-none}" },
              caFile: "ca.pem"
            },
            fallback: { url: "https://x.example.com", headers: { A: "${NONE:-default-value}" } },
            missing: { url: "https://x.example.com", headers: { Authorization: "Bearer ${NONE}" } }
          }
        })
      )
      const conf = join(machine.cwd, "conf")
      const config = (name: string) =>
        Option.getOrThrow(Either.getOrThrow(ServerConfig.decode(name, desired.servers?.[name])).config)
      const local = config("local")
      assert.deepInclude(local, { cwd: conf })
      assert.strictEqual(local.timeout.call, 5000)
      assert.deepStrictEqual(desired.servers?.local, {
        command: "below/run",
        args: ["--t=secret-token", join(conf, "script.js")],
        environment: { A: "file-secret" },
        timeout: "5000",
        cwd: conf,
        secrets: ["below", "secret-token", "5000", "file-secret"]
      } as never)
      // with a cwd of its own, a program is looked for from there
      assert.deepInclude(desired.servers?.placed, {
        command: "./run",
        cwd: join(conf, "below"),
        roots: [join(conf, "src"), join(machine.home, "x"), machine.cwd]
      })
      const remote = config("remote")
      assert.deepInclude(remote, { caFile: join(conf, "ca.pem") })
      // nothing of it shows when it is shown
      assert.notMatch(json([local, remote, config("fallback")]), /secret-token|file-secret/)
      assert.notInclude(json(config("fallback")), "default-value")
      assert.deepStrictEqual(Object.keys(desired.unreadable ?? {}), ["missing"])
      assert.include(
        desired.unreadable?.missing?.message,
        "the environment variable NONE, found a variable that is not set"
      )
    })
  )

  onMachine("that are missing do not fail a disabled server", (machine) =>
    Effect.gen(function* () {
      const entry = { url: "https://x.example.com", headers: { A: "{env:NONE}" } }
      const mcp = { off: { ...entry, enabled: false }, disabled: { ...entry, disabled: true }, on: entry }
      machine.write(machine.globalFile(), json({ mcp }))
      const { desired } = yield* ConfigFiles.load(machine.host)
      const { definitions } = yield* DecodeConfig.decode(desired)
      const statuses = [...definitions.values()].map(({ name, settings }) => {
        return [name, Lifecycle.status(Lifecycle.start(settings, 0).state).status]
      })
      assert.deepStrictEqual(Object.fromEntries(statuses), { off: "disabled", disabled: "disabled", on: "failed" })
      const { servers } = yield* ConfigFiles.explain(machine.host)
      assert.deepStrictEqual(
        servers.map(({ name, state }) => [name, state]),
        [
          ["off", "disabled"],
          ["disabled", "disabled"],
          ["on", "invalid"]
        ]
      )
    })
  )

  onMachine("a secret in any field appears in no output", (machine) =>
    Effect.gen(function* () {
      machine.env.CANARY = "canary-0"
      const canary = (index: number) => `canary-${index}`
      const entries = {
        local: {
          command: "x",
          args: [
            "--token",
            canary(1),
            `--api-key=${canary(2)}`,
            "{env:CANARY}",
            `https://u:${canary(3)}@h/?q=${canary(4)}`
          ],
          env: { A: canary(5), B: `\${NONE:-${canary(6)}}` },
          secrets: [canary(7)]
        },
        remote: {
          url: `https://u:${canary(8)}@h.example.com/?key=${canary(9)}`,
          headers: { A: canary(10), B: `Bearer ${canary(11)}` },
          oauth: { clientSecret: canary(12), privateKeyPem: canary(13), clientId: "{env:CANARY}" }
        },
        wrong: {
          url: canary(14),
          headers: { [`Authorization: Bearer ${canary(15)}`]: 1 },
          oauth: canary(16),
          timeout: canary(17)
        },
        worse: { command: "x", args: canary(18), env: [canary(19)], cwd: 3, concurrency: canary(20) },
        mistaken: { url: "https://h.example.com", headers: { "X: canary-21": "{env:NONE}" } },
        odd: { command: "x", [`key ${canary(22)}`]: 1 }
      }
      for (const kind of ["trusted", "untrusted"]) {
        const file = machine.write(kind === "trusted" ? "f.json" : "mcp-supervisor.json", json({ mcp: entries }))
        const options = kind === "trusted" ? { ...machine.host, files: [file] } : machine.host
        const loaded = yield* ConfigFiles.load(options)
        const shown = [
          yield* ConfigFiles.explain(options),
          loaded.diagnostics,
          loaded.problems,
          loaded.desired.unreadable,
          Object.values(loaded.desired.unreadable ?? {}).map(String),
          loaded.layers
        ]
        assert.notInclude(json(shown), "canary", kind)
      }
      const added = yield* Effect.flip(
        ConfigFiles.add("n", { url: canary(1), headers: { A: canary(2) } }, machine.host)
      )
      assert.notInclude(`${added.message}${json(added)}`, "canary")
    })
  )
})
