// The pure core decodes configs, names tools and computes the lifecycle of a server, without starting anything.
import { Either } from "effect"
import { Lifecycle, Secrets, ServerConfig, ToolName } from "mcp-supervisor"

// an entry in either spelling; errors name place and type, never values
const entry = { command: "npx", args: ["-y", "server-github"], env: { TOKEN: "ghp_12345678" }, timeot: "1 minute" }
const { config, warnings } = Either.getOrThrow(ServerConfig.decode("github", entry))
console.log(warnings.map(({ message }) => message))
console.log(Either.flip(ServerConfig.decode("broken", { url: 3 })).right?.message)

// scrub removes the secrets of a config from any text
const scrub = Secrets.scrub(ServerConfig.secrets(config.value))
console.log(scrub("401 for https://api.example.com/?token=ghp_12345678"))

// public names that do not depend on which servers are connected
const nameOf = ToolName.namer(["github", "git"])
console.log(nameOf({ server: "github", tool: "search" }), nameOf({ server: "git", tool: "hub search!" }))

// a lifecycle: the first crash is followed by a restart at once, the next one by a delay
let { state, actions } = Lifecycle.start(ServerConfig.toSettings("github", config.value), 0)
const happens = (event) => {
  ;({ state, actions } = Lifecycle.step(state, { at: 0, random: 0.5, ...event }))
  console.log(event._tag, "->", Lifecycle.status(state).status, actions.map((action) => action._tag).join(" "))
}
const failure = { kind: "transient", error: "it broke", errorTag: "ProcessExited" }
happens({ _tag: "Lost", generation: 1, failure })
happens({ _tag: "Released", generation: 1 })
happens({ _tag: "Lost", generation: 2, failure })
