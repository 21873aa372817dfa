import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Browser, isHeadless, layerNode } from "../../../auth/Browser.js"
import { ask } from "../../terminal/ask.js"
import { CommandFailed, WrongUsage } from "../../failure.js"
import type { HandleFailure, SupervisorHandle } from "../../supervisor/SupervisorHandle.js"
import { Screen } from "../../terminal/Screen.js"
import { isSettled, isUsable } from "../../../domain/server/ServerStatus.js"
import { argument, command, type Input } from "../../words/spec.js"
import { table } from "../../terminal/table.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "auth",
  summary: "Log in to a server, or list all logins",
  details:
    "Opens the login page in the browser and waits up to 5 minutes for the callback. If the browser runs on another machine, paste the URL to which it was redirected into the terminal.",
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
    if (logins.length === 0) return yield* screen.note("no server has a login")
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
    // Started first: the callback may arrive as soon as the login has started.
    const completed = yield* Effect.fork(loginCompleted(handle, name))
    const { authorizationUrl } = yield* screen.busy("preparing the login", handle.startLogin(name))
    yield* screen.note(`log in on this page:\n${authorizationUrl}`)
    if (!isHeadless(process.env, process.platform)) {
      const browser = yield* Effect.provide(Browser, layerNode)
      yield* browser.open(authorizationUrl)
    }
    const pasted: Effect.Effect<unknown, HandleFailure> = screen.canAsk
      ? ask({ text: "or paste the URL at which the browser ended" }).pipe(
          Effect.flatMap((url) => handle.finishLogin(name, url))
        )
      : Effect.never
    yield* Effect.raceFirst(completed, pasted)
    const { status } = yield* screen.busy(`connecting ${name}`, statusAfterLogin(handle, name))
    yield* input.json
      ? screen.json({ [name]: status })
      : screen.out(`${name}: logged in, ${status.status.replaceAll("_", " ")}`)
    return isUsable(status) ? 0 : 3
  })

/** Returns when a login of the server has succeeded. Fails when one has failed. */
const loginCompleted = (handle: SupervisorHandle, name: string): Effect.Effect<void, HandleFailure> =>
  handle.events({ follow: true, replay: false }).pipe(
    Stream.filter((event) => event.type === "Auth" && event.server === name),
    Stream.runForEachWhile((event) => {
      if (event.type !== "Auth" || event.what === "login_started") return Effect.succeed(true)
      return event.what === "login_failed"
        ? Effect.fail(
            new CommandFailed({ message: `${name}: the login failed; to find out why: mcp-supervisor debug ${name}` })
          )
        : Effect.succeed(event.what !== "login_finished")
    })
  )

/**
 * Waits until the server has settled, for 30 seconds at most. The status stays `needs_auth` until the server has processed
 * the new credentials.
 */
const statusAfterLogin = (handle: SupervisorHandle, name: string) =>
  handle.changes.pipe(
    Stream.map((all) => all.find((each) => each.name === name)),
    Stream.filter((each) => each !== undefined && isSettled(each.status) && each.status.status !== "needs_auth"),
    Stream.runHead,
    Effect.timeoutOption("30 seconds"),
    Effect.zipRight(handle.server(name))
  )
