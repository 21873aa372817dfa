// The part that decides: it reads configs, names tools and runs a life, all without starting anything.
import { Either } from "effect"
import { Lifecycle, Secrets, ServerConfig, ToolName } from "mcp-supervisor"

// what people write, in either spelling; a mistake is named by place and type, never by value
const entry = { command: "npx", args: ["-y", "server-github"], env: { TOKEN: "ghp_12345678" }, timeot: "1 minute" }
const { config, warnings } = Either.getOrThrow(ServerConfig.decode("github", entry))
console.log(warnings.map(({ message }) => message))
console.log(Either.flip(ServerConfig.decode("broken", { url: 3 })).right?.message)

// secrets stay out of every text
const scrub = Secrets.scrub(ServerConfig.secrets(config.value))
console.log(scrub("401 for https://api.example.com/?token=ghp_12345678"))

// names that stay the same whoever is up
const nameOf = ToolName.namer(["github", "git"])
console.log(nameOf({ server: "github", tool: "search" }), nameOf({ server: "git", tool: "hub search!" }))

// a life: the first crash is answered at once, the next one after a pause
let { state, actions } = Lifecycle.start(ServerConfig.toSettings("github", config.value), 0)
const happens = (event) => {
  ;({ state, actions } = Lifecycle.step(state, { at: 0, random: 0.5, ...event }))
  console.log(event._tag, "->", Lifecycle.status(state).status, actions.map((action) => action._tag).join(" "))
}
const failure = { kind: "transient", error: "it broke", errorTag: "ProcessExited" }
happens({ _tag: "Lost", generation: 1, failure })
happens({ _tag: "Released", generation: 1 })
happens({ _tag: "Lost", generation: 2, failure })
