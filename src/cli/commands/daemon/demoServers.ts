/**
 * Configures the example servers, and lists commands to try with them.
 */
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import type * as ServerConfig from "../../../domain/server/ServerConfig.js"
import { CommandFailed } from "../../failure.js"
import type { Style } from "../../terminal/style.js"

/** Beside the built program, or in the repository when the program runs from source. */
const directories = ["../demo/", "../../demo/", "../../examples/servers/"]

export const demoServers: Effect.Effect<Readonly<Record<string, ServerConfig.Input>>, CommandFailed> = Effect.suspend(
  () => {
    const directory = directories
      .map((each) => fileURLToPath(new URL(each, import.meta.url)))
      .find((each) => existsSync(join(each, "greet.mjs")))
    if (directory === undefined) {
      return Effect.fail(
        new CommandFailed({ message: "the example servers are missing: build them with npm run build" })
      )
    }
    const local = (name: string, program: string, file: string): [string, ServerConfig.Input] => [
      name,
      { type: "local", command: [program, join(directory, file)] }
    ]
    const own = ["greet", "todo", "clock"].map((name) => local(name, process.execPath, `${name}.mjs`))
    const python = isInPath("python3") ? [local("websearch", "python3", "websearch.py")] : []
    return Effect.succeed(Object.fromEntries([...own, ...python]))
  }
)

const isInPath = (program: string): boolean =>
  (process.env.PATH ?? "").split(delimiter).some((directory) => existsSync(join(directory, program)))

export const demoTour = (program: string, style: Style): ReadonlyArray<string> => {
  const step = (what: string, words: string) => `  ${what.padEnd(34)}${style.name(`${program} ${words}`)}`
  return [
    style.bold("Example servers are running. Try this in a second terminal:"),
    step("see them", "list"),
    step("see what they can do", "tools"),
    step("call a tool", `call greet_greet '{"name":"Ada"}'`),
    step("make a call that takes a while", `call clock/countdown '{"steps":3}'`),
    step("kill a server", `status greet | awk '$1 == "pid" { print $2 }' | xargs kill -9`),
    step("see that it was restarted", "status greet"),
    step("see what happened", "events"),
    step("add one of your own", "add mine -- node server.mjs"),
    ""
  ]
}
