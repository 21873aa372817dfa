import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Browser, isHeadless, layerNode } from "../../../auth/Browser.js"
import { ask } from "../../terminal/ask.js"
import { CommandFailed, WrongUsage } from "../../failure.js"
import type { HandleFailure, SupervisorHandle } from "../../supervisor/SupervisorHandle.js"
import { Screen } from "../../terminal/Screen.js"
import { isUsable } from "../../../domain/server/ServerStatus.js"
import { argument, command, type Input } from "../../words/spec.js"
import { table } from "../../terminal/table.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "auth",
  summary: "Log in to a server, or list all logins",
  details:
    "Opens the login page in the browser and waits up to 5 minutes for the callback. If the browser runs on another machine, paste the URL it was redirected to.",
  group: "log in",
  arguments: { name: argument("optional", "name", 'The server, or "list"') },
  options: {},
  examples: ["auth github", "auth list"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.suspend(() => {
    if (input.name === undefined)
      return Effect.fail(new WrongUsage({ message: "<name> is missing: the server, or list" }))
    const { name } = input
    return name === "list"
      ? withSupervisor(input, {}, overview(input))
      : withSupervisor(input, { only: [name] }, logIn(input, name))
  })

const overview = (input: Input<typeof spec>) => (handle: SupervisorHandle) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const logins = yield* screen.busy("connecting", handle.logins)
    if (input.json) return yield* screen.json(logins)
    if (logins.length === 0) return yield* screen.note("no server that one can log in to")
    const { style } = screen
    const rows = logins.map(({ login, server, status }) => [
      { text: server, paint: style.bold },
      { text: login.replaceAll("_", " "), paint: login === "authenticated" ? style.good : style.busy },
      { text: status.status.replaceAll("_", " ") }
    ])
    const columns = [{ title: "SERVER", flexible: true }, { title: "LOGIN" }, { title: "STATUS" }]
    yield* screen.out(table(columns, rows, { width: screen.width(), head: style.dim }).join("\n"))
  })

const logIn = (input: Input<typeof spec>, name: string) => (handle: SupervisorHandle) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    yield* handle.server(name)
    // listen before anything can happen
    const answer = yield* Effect.fork(finished(handle, name))
    const { authorizationUrl } = yield* screen.busy("asking where to log in", handle.startLogin(name))
    yield* screen.note(`log in on this page:\n${authorizationUrl}`)
    if (!isHeadless(process.env, process.platform)) {
      const browser = yield* Effect.provide(Browser, layerNode)
      yield* browser.open(authorizationUrl)
    }
    const pasted: Effect.Effect<unknown, HandleFailure> = screen.canAsk
      ? ask({ text: "or paste the address the browser ended at" }).pipe(
          Effect.flatMap((url) => handle.finishLogin(name, url))
        )
      : Effect.never
    yield* Effect.raceFirst(answer, pasted)
    const { status } = yield* screen.busy(`connecting ${name}`, settled(handle, name))
    yield* input.json
      ? screen.json({ [name]: status })
      : screen.out(`${name}: logged in, ${status.status.replaceAll("_", " ")}`)
    return isUsable(status) ? 0 : 3
  })

/** The next thing that is heard of a login. */
const finished = (handle: SupervisorHandle, name: string): Effect.Effect<void, HandleFailure> =>
  handle.events({ follow: true, replay: false }).pipe(
    Stream.filter((event) => event.type === "Auth" && event.server === name),
    Stream.runForEachWhile((event) => {
      if (event.type !== "Auth" || event.what === "login_started") return Effect.succeed(true)
      return event.what === "login_failed"
        ? Effect.fail(
            new CommandFailed({ message: `${name}: the login failed; mcp-supervisor debug ${name} says more` })
          )
        : Effect.succeed(event.what !== "login_finished")
    })
  )

const settled = (handle: SupervisorHandle, name: string) =>
  handle.changes.pipe(
    Stream.map((all) => all.find((each) => each.name === name)),
    Stream.filter(
      (each) => each !== undefined && each.status.status !== "connecting" && each.status.status !== "needs_auth"
    ),
    Stream.runHead,
    Effect.timeoutOption("30 seconds"),
    Effect.zipRight(handle.server(name))
  )
