import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Schema, Stream, SubscriptionRef } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import * as Session from "../../../src/connection/Session.js"
import type * as Protocol from "../../../src/domain/catalog/Protocol.js"
import type * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { type Journal, makeJournal, received, type Told } from "../support/contractServers/journal.js"
import { type Answered, root, slowly, type Subject, subjects } from "../support/contractServers/subjects.js"
import { pythonIsInstalled } from "../support/exampleServers.js"
import { eventually, textOf } from "../support/session.js"
import { type Conversation, converse, makeTold } from "../support/contractServers/conversation.js"

/** The idle timeout of a call while a slow person is asked, and the time that the person takes. */
const idle = "1000 millis"
const total = "1100 millis"
const thinking = "1400 millis"

/** Handlers that respond at once, except for one slow question. */
const makeHandlers = (
  asked: Journal<string>,
  roots: SubscriptionRef.SubscriptionRef<ReadonlyArray<Protocol.Root>>
) => ({
  roots: roots.changes,
  elicit: ({ message }: Protocol.ElicitRequest) =>
    Effect.sync(() => asked.add("elicit")).pipe(
      Effect.zipRight(message === slowly ? Effect.sleep(thinking) : Effect.void),
      Effect.as({ action: "accept" as const, content: { name: "Ada" } })
    ),
  sample: () =>
    Effect.sync(() => asked.add("sample")).pipe(
      Effect.as({ role: "assistant" as const, content: { type: "text", text: "4" }, model: "a test" })
    )
})

class Contact extends Context.Tag("test/Contact")<
  Contact,
  Conversation & {
    readonly input: ServerConfig.Input
    readonly asked: Journal<string>
    readonly roots: SubscriptionRef.SubscriptionRef<ReadonlyArray<Protocol.Root>>
  }
>() {}

/** One session with all features, which most tests share, because starting a server takes most of the time. */
const contact = ({ start }: Subject) =>
  Layer.scoped(
    Contact,
    Effect.gen(function* () {
      const told = makeTold()
      const input = yield* start(told)
      const asked = makeJournal<string>("what was asked")
      const roots = yield* SubscriptionRef.make<ReadonlyArray<Protocol.Root>>([{ uri: root }])
      const conversation = yield* converse(input, told, { handlers: makeHandlers(asked, roots) })
      return { ...conversation, input, asked, roots }
    })
  ).pipe(Layer.provideMerge(Connector.layer()))

const callText = (session: Session.Session, { args, name, text }: Answered) =>
  Effect.map(session.callTool(name, args), (result) =>
    assert.include(JSON.stringify(result.content), JSON.stringify(text).slice(1, -1))
  )

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The client capabilities that a server received last. */
const advertised = (era: Protocol.Era, entries: ReadonlyArray<Told>) => {
  const greeting = entries.findLast(received(era === "legacy" ? "initialize" : "server/discover"))
  const { _meta: meta, capabilities } = (greeting?.params ?? {}) as {
    readonly capabilities?: object
    readonly _meta?: Record<string, object>
  }
  const said = capabilities ?? meta?.["io.modelcontextprotocol/clientCapabilities"]
  assert(said !== undefined, "the server was greeted")
  return Object.keys(said).sort()
}

for (const subject of subjects({ python: pythonIsInstalled })) {
  if (subject.skip === true) continue
  const { era, features, protocolVersion, transport } = subject

  layer(contact(subject), { excludeTestServices: true, timeout: "3 minutes" })(subject.name, (it) => {
    it.effect("has the server's info, transport and revision", () =>
      Effect.gen(function* () {
        const { info } = (yield* Contact).session
        yield* Schema.validate(Session.Info)(info)
        assert.strictEqual(info.transport, transport)
        assert.strictEqual(info.era, era, "the era is known")
        assert.strictEqual(info.protocolVersion, protocolVersion)
        assert.strictEqual(info.serverInfo?.name, features.serverName)
        assert.includeMembers(Object.keys(info.capabilities), [...features.capabilities])
        assert.strictEqual(info.instructions !== undefined, features.instructions === true)
        assert.strictEqual(info.pid !== undefined, transport === "stdio")
      })
    )

    it.effect("lists the tools of all pages", () =>
      Effect.gen(function* () {
        const { session, told } = yield* Contact
        const before = told.entries().length
        const { diagnostics, items } = yield* session.listTools
        assert.deepStrictEqual(diagnostics, [])
        const names = items.map(({ name }) => name)
        assert.strictEqual(new Set(names).size, names.length)
        assert.includeMembers(names, [...features.tools])
        if (features.pages === undefined) return
        yield* told.find(received("tools/list"))
        yield* eventually(() => told.entries().slice(before).filter(received("tools/list")).length === features.pages)
      })
    )

    it.effect("lists resources and prompts, without a request if the server has none", () =>
      Effect.gen(function* () {
        const { session, told } = yield* Contact
        const resources = yield* session.listResources
        const templates = yield* session.listResourceTemplates
        const prompts = yield* session.listPrompts
        assert.strictEqual(resources.items.length > 0, features.resource !== undefined)
        assert.strictEqual(prompts.items.length > 0, features.prompt !== undefined)
        assert.deepStrictEqual([...resources.diagnostics, ...templates.diagnostics, ...prompts.diagnostics], [])
        const asked = told.entries().filter(({ method }) => /^(resources|prompts)\//.test(method ?? ""))
        if (features.resource === undefined && features.prompt === undefined) assert.deepStrictEqual(asked, [])
      })
    )

    it.effect("calls a tool", () => Effect.flatMap(Contact, ({ session }) => callText(session, features.call)))

    it.effect("makes many calls at once", () =>
      Effect.gen(function* () {
        const { session } = yield* Contact
        yield* Effect.forEach(Array.from({ length: 20 }), () => callText(session, features.call), {
          concurrency: "unbounded"
        })
      })
    )

    const { failing } = features
    if (failing !== undefined) {
      it.effect("returns a tool's own failure as a result", () =>
        Effect.gen(function* () {
          const { session } = yield* Contact
          const result = yield* session.callTool(failing.name, failing.args)
          assert.isTrue(result.isError)
          assert.include(textOf(result), failing.text)
        })
      )
    }

    it.effect("fails with a typed error for an unknown tool", () =>
      Effect.gen(function* () {
        const { session } = yield* Contact
        const outcome = yield* Effect.either(session.callTool("no_such_tool"))
        if (features.unknownTool === "isError") {
          assert(outcome._tag === "Right", JSON.stringify(outcome))
          assert.isTrue(outcome.right.isError)
        } else {
          assert(outcome._tag === "Left", JSON.stringify(outcome))
          assert(outcome.left._tag === "ProtocolError", JSON.stringify(outcome.left))
          assert.strictEqual(outcome.left.code, features.unknownTool)
        }
      })
    )

    const { progress } = features
    if (progress !== undefined) {
      it.effect("reports progress in order and before the call returns", () =>
        Effect.gen(function* () {
          const { session, told } = yield* Contact
          const reports: Array<number> = []
          const result = yield* session.callTool(progress.name, progress.args, {
            onProgress: (report) =>
              Effect.zipRight(
                Effect.yieldNow(),
                Effect.sync(() => reports.push(report.progress))
              )
          })
          assert.deepStrictEqual(reports, progress.reports)
          assert.include(textOf(result), progress.text)
          if (!features.tells) return
          const calls = told.entries().filter(received("tools/call"))
          for (const { params } of calls) assert.nestedProperty(params, "_meta.progressToken")
        })
      )
    }

    const { waiting } = features
    if (waiting !== undefined) {
      it.effect("an interrupted call is cancelled once, and the session goes on", () =>
        Effect.gen(function* () {
          const { session, told } = yield* Contact
          const before = told.entries().length
          const since = () => told.entries().slice(before)
          const fiber = yield* Effect.fork(session.callTool(waiting.name, waiting.args))
          yield* told.find((entry) =>
            waiting.witnessed
              ? entry.event === "waiting"
              : since().includes(entry) && received("tools/call")(entry) && entry.params?.name === waiting.name
          )
          yield* Fiber.interrupt(fiber)
          if (waiting.witnessed) yield* told.find(({ event }) => event === "aborted")
          yield* callText(session, features.call)
          yield* told.find(
            (entry) =>
              since().includes(entry) && received("tools/call")(entry) && entry.params?.name === features.call.name
          )
          const cancelled = () => since().filter(received("notifications/cancelled"))
          // over HTTP each message is a separate request, and may arrive after the next
          yield* eventually(() => cancelled().length >= waiting.cancellations)
          assert.strictEqual(cancelled().length, waiting.cancellations)
          const call = since().find((entry) => received("tools/call")(entry) && entry.params?.name === waiting.name)
          for (const { params } of cancelled()) assert.strictEqual(params?.requestId, call?.id)
        })
      )
    }

    const { resource } = features
    if (resource !== undefined) {
      it.effect("reads a resource", () =>
        Effect.gen(function* () {
          const { contents } = yield* (yield* Contact).session.readResource(resource.uri)
          assert.strictEqual(contents[0]?.uri, resource.uri)
          assert.include(contents[0]?.text, resource.text)
        })
      )
    }

    const { prompt } = features
    if (prompt !== undefined) {
      it.effect("gets a prompt", () =>
        Effect.gen(function* () {
          const { messages } = yield* (yield* Contact).session.getPrompt(prompt.name, prompt.args)
          assert.include(JSON.stringify(messages), prompt.text)
        })
      )
    }

    const { completion } = features
    if (completion !== undefined) {
      it.effect("completes the value of an argument", () =>
        Effect.gen(function* () {
          const result = yield* (yield* Contact).session.complete(completion.request)
          assert.deepStrictEqual(result.completion.values, completion.values)
        })
      )
    }

    const { logging } = features
    if (logging !== undefined) {
      it.effect("streams log messages of the server, from the configured level", () =>
        Effect.gen(function* () {
          const { lines, session } = yield* Contact
          yield* session.setLogLevel("debug")
          yield* session.callTool(logging.name, logging.args)
          const line = yield* lines.find(({ source, text }) => source === "server" && text.includes(logging.text))
          assert.isDefined(line.level)
        })
      )
    }

    const { changesTools } = features
    if (changesTools !== undefined) {
      it.effect("reports that the list of tools changed", () =>
        Effect.gen(function* () {
          const { notifications, session } = yield* Contact
          if (transport !== "stdio" || era === "modern") {
            yield* notifications.find((each) => each._tag === "PushChanged" && each.push === "open")
          }
          assert.strictEqual(yield* session.push, "open")
          yield* session.callTool(changesTools.name, changesTools.args)
          yield* notifications.find((each) => each._tag === "ListChanged" && each.list === "tools")
        })
      )
    }

    const { updates } = features
    if (updates !== undefined) {
      it.effect("streams changes of a resource while there is a reader", () =>
        Effect.gen(function* () {
          const { session, told } = yield* Contact
          const asks = era === "legacy" ? received("resources/subscribe") : received("subscriptions/listen")
          const wanted = (entry: Told) => asks(entry) && JSON.stringify(entry.params).includes(updates.uri)
          const reader = yield* session
            .subscribeResource(updates.uri)
            .pipe(Stream.take(1), Stream.runCollect, Effect.fork)
          const { id } = yield* told.find(wanted)
          // the server has received the request; its next response shows that it has handled it
          yield* session.probe("5 seconds")
          yield* session.callTool(updates.name, updates.args)
          assert.deepStrictEqual([...(yield* Fiber.join(reader))], [{ uri: updates.uri }])
          if (era === "legacy") {
            yield* told.find((entry) => received("resources/unsubscribe")(entry) && entry.params?.uri === updates.uri)
          } else if (transport === "stdio") {
            yield* told.find((entry) => received("notifications/cancelled")(entry) && entry.params?.requestId === id)
          }
          assert.strictEqual(told.entries().filter(wanted).length, 1)
        })
      )
    }

    it.effect("gets a response to a probe in both eras", () =>
      Effect.flatMap(Contact, ({ session }) => session.probe("5 seconds"))
    )

    const { elicits } = features
    if (elicits !== undefined) {
      it.effect("passes elicitation requests to a handler", () =>
        Effect.gen(function* () {
          const { asked, session } = yield* Contact
          yield* callText(session, elicits)
          assert.include(asked.entries(), "elicit")
        })
      )
    }

    const { elicitsSlowly } = features
    if (elicitsSlowly !== undefined) {
      it.effect("pauses the timeouts of a call while a person is asked", () =>
        Effect.gen(function* () {
          const { session } = yield* Contact
          const { args, name, text } = elicitsSlowly
          const result = yield* session.callTool(name, args, { idleTimeout: idle, totalTimeout: total })
          assert.strictEqual(textOf(result), text)
        })
      )
    }

    const { samples } = features
    if (samples !== undefined) {
      it.effect("passes sampling requests to a handler", () =>
        Effect.gen(function* () {
          const { asked, session } = yield* Contact
          yield* callText(session, samples)
          assert.include(asked.entries(), "sample")
        })
      )
    }

    const { listsRoots } = features
    if (listsRoots !== undefined) {
      it.effect("sends the roots to the server", () =>
        Effect.flatMap(Contact, ({ session }) => callText(session, listsRoots))
      )
    }

    if (features.hearsOfRoots === true) {
      it.effect("notifies the server when the roots change", () =>
        Effect.gen(function* () {
          const { roots, told } = yield* Contact
          yield* SubscriptionRef.set(roots, [{ uri: root }, { uri: `${root}/more` }])
          yield* told.find(received("notifications/roots/list_changed"))
        })
      )
    }

    const { pings } = features
    if (pings !== undefined) {
      it.effect("responds to a ping of the server during a call", () =>
        Effect.flatMap(Contact, ({ session }) => callText(session, pings))
      )
    }

    if (features.tells) {
      it.effect("advertises the capabilities of its handlers", () =>
        Effect.gen(function* () {
          const { told } = yield* Contact
          yield* told.find(received(era === "legacy" ? "initialize" : "server/discover"))
          assert.deepStrictEqual(advertised(era, told.entries()), ["elicitation", "roots", "sampling"])
        })
      )
    }

    it.effect("advertises nothing without handlers, and leaves nothing behind when closed", () =>
      Effect.gen(function* () {
        const { input, told: shared } = yield* Contact
        const told = transport === "stdio" ? makeTold() : shared
        const before = told.entries().length
        const since = () => told.entries().slice(before)
        const session = yield* Effect.scoped(
          Effect.gen(function* () {
            const { session } = yield* converse(input, told)
            yield* callText(session, features.call)
            if (features.tells) {
              yield* told.find((entry) => since().includes(entry) && received("tools/call")(entry))
              assert.deepStrictEqual(advertised(era, since()), [])
            }
            return session
          })
        )
        assert.strictEqual((yield* session.closed)._tag, "ConnectionClosed")
        const late = yield* Effect.flip(session.callTool(features.call.name, features.call.args))
        assert.strictEqual(late._tag, "NotSent")
        switch (features.farewell) {
          case "exit":
            return assert.isFalse(isAlive(session.info.pid!))
          case "DELETE":
            return void (yield* told.find((entry) => since().includes(entry) && entry.method === "DELETE"))
          case "stream":
            return void (yield* told.find(
              (entry) => since().includes(entry) && entry.event === "http closed" && entry.method === "GET"
            ))
        }
      })
    )
  })
}
