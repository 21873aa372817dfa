// Loads config files as the supervisor does at its start, in a new process, from the build.
import { join } from "node:path"
import * as Effect from "effect/Effect"

const [dist, directory, servers] = process.argv.slice(2)
const { load } = await import(new URL("config/ConfigFiles.js", dist).href)

const options = {
  cwd: directory,
  home: directory,
  stateDir: join(directory, "state"),
  files: [join(directory, "above.json")],
  env: {
    XDG_CONFIG_HOME: join(directory, "config"),
    BENCH_KEY: "a-key-that-is-secret",
    MCP_SUPERVISOR_MANAGED_CONFIG: join(directory, "none.json")
  }
}

const once = async () => {
  const from = performance.now()
  const { desired } = await Effect.runPromise(load(options))
  const millis = performance.now() - from
  if (Object.keys(desired.servers).length !== Number(servers)) throw new Error("some servers are missing")
  return millis
}

const methods = {
  load: async (times) => {
    const first = await once()
    const again = []
    for (let round = 0; round < times; round += 1) again.push(await once())
    return { first, again }
  }
}

process.on("message", async ({ method, parameters }) => {
  try {
    process.send({ value: await methods[method](...parameters) })
  } catch (error) {
    process.send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
})
process.send({})
