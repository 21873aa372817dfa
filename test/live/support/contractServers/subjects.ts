/** The servers the contract is tried on, and what each of them has the means for. */
import { spawn } from "node:child_process"
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import type * as Protocol from "../../../../src/domain/catalog/Protocol.js"
import type * as ServerConfig from "../../../../src/domain/server/ServerConfig.js"
import { type Journal, type Told, toldIn } from "./journal.js"

export interface Call {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** A call and a text in its result. */
export interface Answered extends Call {
  readonly text: string
}

/** A feature that is absent is one the server does not have. */
export interface Features {
  readonly serverName: string
  readonly capabilities: ReadonlyArray<string>
  readonly instructions?: boolean
  readonly tools: ReadonlyArray<string>
  readonly pages?: number
  readonly call: Answered
  readonly failing?: Answered
  /** What comes back for a tool that is not there: a result, or an error with this code. */
  readonly unknownTool: "isError" | number
  readonly progress?: Answered & { readonly reports: ReadonlyArray<number> }
  readonly waiting?: Call & {
    /** Whether the server tells when it begins and when it hears that nobody waits any more. */
    readonly witnessed: boolean
    /** How many messages say so. */
    readonly cancellations: number
  }
  readonly resource?: { readonly uri: string; readonly text: string }
  readonly prompt?: { readonly name: string; readonly args: Readonly<Record<string, string>>; readonly text: string }
  readonly completion?: { readonly request: Protocol.CompleteRequest; readonly values: ReadonlyArray<string> }
  readonly logging?: Call & { readonly text: string }
  readonly changesTools?: Call
  readonly updates?: Call & { readonly uri: string }
  readonly elicits?: Answered
  /** The same, with a person who takes longer than the call may be idle. */
  readonly elicitsSlowly?: Answered
  readonly samples?: Answered
  readonly listsRoots?: Answered
  readonly hearsOfRoots?: boolean
  readonly pings?: Answered
  /** Whether it tells what it receives. */
  readonly tells: boolean
  /** What it hears when we leave. */
  readonly farewell?: "exit" | "DELETE" | "stream"
}

export interface Subject {
  readonly name: string
  readonly transport: Protocol.Transport
  readonly era: Protocol.Era
  readonly protocolVersion: string
  /** Starts what has to run before anybody connects, and gives the way there. */
  readonly start: (told: Journal<Told>) => Effect.Effect<ServerConfig.Input, never, Scope.Scope>
  readonly features: Features
  readonly skip?: boolean
}

export const root = "file:///tmp/contract"

/** Asked with this, the person takes their time. */
export const slowly = "Take your time"

const here = (file: string) => fileURLToPath(new URL(`./${file}`, import.meta.url))
const repositoryRoot = fileURLToPath(new URL("../../../../", import.meta.url))
const bin = (file: string) => join(repositoryRoot, "node_modules/@modelcontextprotocol", file)

const nodeArgs = (args: ReadonlyArray<string>) => ["--import", here("tell.mjs"), ...args]

export const stdio =
  (args: ReadonlyArray<string>, more: Readonly<Record<string, unknown>> = {}) =>
  (): Effect.Effect<ServerConfig.Input> =>
    Effect.succeed({ type: "local", command: [process.execPath, ...nodeArgs(args)], ...more })

export const raw = (options: Readonly<Record<string, unknown>>) => stdio([here("raw.mjs"), JSON.stringify(options)])

/** Runs a server until the scope closes, and knows its address. */
export const http =
  (
    args: ReadonlyArray<string>,
    options: {
      readonly path?: string
      readonly type?: "http" | "sse"
      readonly protocol?: "legacy" | "2026-07-28"
    } = {}
  ) =>
  (told: Journal<Told>): Effect.Effect<ServerConfig.Input, never, Scope.Scope> =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const child = spawn(process.execPath, nodeArgs(args), {
            stdio: ["ignore", "ignore", "pipe"],
            env: { ...process.env, PORT: "0" }
          })
          createInterface({ input: child.stderr }).on("line", (line) => {
            const entry = toldIn(line)
            if (entry !== undefined) told.add(entry)
          })
          const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
          return { child, ended }
        }),
        ({ child, ended }) =>
          Effect.promise(() => {
            child.kill("SIGKILL")
            return ended
          })
      )
      const { port } = yield* told.find(({ event }) => event === "listening")
      const { path = "/mcp", protocol, type = "http" } = options
      return { type, url: `http://127.0.0.1:${port}${path}`, ...(protocol === undefined ? {} : { protocol }) }
    })

/** What all servers of ours have, those without an SDK included. */
const ours: Features = {
  serverName: "contract",
  capabilities: ["tools", "resources", "prompts", "logging", "completions"],
  instructions: true,
  tools: ["echo", "fail", "steps", "wait", "log", "change_tools", "touch_note", "elicit", "sample", "roots", "ping"],
  pages: 2,
  call: { name: "echo", args: { text: "héllo 🙂\n" }, text: "héllo 🙂\n" },
  failing: { name: "fail", args: {}, text: "it did not work" },
  unknownTool: -32_602,
  progress: { name: "steps", args: { count: 3 }, text: "3 steps", reports: [1, 2, 3] },
  waiting: { name: "wait", args: {}, witnessed: true, cancellations: 1 },
  resource: { uri: "note://1", text: "a note" },
  prompt: { name: "greet", args: { name: "Ada" }, text: "Greet Ada" },
  completion: {
    request: { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "name", value: "A" } },
    values: ["Ada", "Alan"]
  },
  logging: { name: "log", args: { level: "warning", text: "mind the gap" }, text: "mind the gap" },
  changesTools: { name: "change_tools", args: {} },
  updates: { name: "touch_note", args: {}, uri: "note://1" },
  elicits: { name: "elicit", args: { message: "Who are you?" }, text: "accept Ada" },
  elicitsSlowly: { name: "elicit", args: { message: slowly }, text: "accept Ada" },
  samples: { name: "sample", args: {}, text: "4" },
  listsRoots: { name: "roots", args: {}, text: root },
  hearsOfRoots: true,
  pings: { name: "ping", args: {}, text: "the client is there" },
  tells: true
}

/** Without some of its features. */
const without = (features: Features, ...names: ReadonlyArray<keyof Features>): Features =>
  Object.fromEntries(Object.entries(features).filter(([name]) => !names.includes(name as keyof Features))) as never

const v1: Features = { ...ours, serverName: "contract-v1", unknownTool: "isError" }
const v2: Features = { ...ours, serverName: "contract-v2" }

/** In this era a server cannot ping, and is not told about roots. */
const v2Modern = without(v2, "pings", "hearsOfRoots")

/** Each request is answered with one JSON text by a server of its own: nothing can be said besides. */
const oneAnswer = without(
  v1,
  "progress",
  "waiting",
  "logging",
  "changesTools",
  "updates",
  "elicits",
  "elicitsSlowly",
  "samples",
  "listsRoots",
  "hearsOfRoots",
  "pings"
)

const everything: Features = {
  serverName: "mcp-servers/everything",
  capabilities: ["tools", "resources", "prompts", "logging", "completions"],
  instructions: true,
  tools: ["echo", "get-sum", "trigger-long-running-operation"],
  call: { name: "echo", args: { message: "hello" }, text: "Echo: hello" },
  failing: { name: "get-sum", args: { a: "one" }, text: "" },
  unknownTool: "isError",
  progress: {
    name: "trigger-long-running-operation",
    args: { duration: 0.1, steps: 4 },
    text: "completed",
    reports: [1, 2, 3, 4]
  },
  waiting: {
    name: "trigger-long-running-operation",
    args: { duration: 5, steps: 1 },
    witnessed: false,
    cancellations: 1
  },
  resource: { uri: "demo://resource/dynamic/text/1", text: "Resource 1" },
  prompt: { name: "args-prompt", args: { city: "Zürich" }, text: "What's weather in Zürich?" },
  completion: {
    request: { ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "S" } },
    values: ["Sales", "Support"]
  },
  // every level is sent sooner or later, and the first one at once
  logging: { name: "toggle-simulated-logging", args: {}, text: "message" },
  updates: { name: "toggle-subscriber-updates", args: {}, uri: "demo://resource/dynamic/text/1" },
  elicits: { name: "trigger-elicitation-request", args: {}, text: "User inputs" },
  samples: { name: "trigger-sampling-request", args: { prompt: "2 + 2?" }, text: '"text": "4"' },
  listsRoots: { name: "get-roots-list", args: {}, text: root },
  hearsOfRoots: true,
  tells: true
}

/** A directory with one file in it. */
const directory = Effect.acquireRelease(
  Effect.sync(() => {
    const path = realpathSync(mkdtempSync(join(tmpdir(), "contract-")))
    writeFileSync(join(path, "hello.txt"), "hello from a file")
    return path
  }),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const filesystem: Features = {
  serverName: "secure-filesystem-server",
  capabilities: ["tools"],
  tools: ["read_text_file", "list_allowed_directories"],
  call: { name: "list_allowed_directories", args: {}, text: "Allowed directories" },
  failing: { name: "read_text_file", args: { path: "/etc/hosts" }, text: "Access denied" },
  unknownTool: "isError",
  tells: true,
  farewell: "exit"
}

const websearch: Features = {
  serverName: "web-search",
  capabilities: ["tools"],
  tools: ["search_web"],
  call: { name: "search_web", args: { query: "café" }, text: "A café guide to Zürich" },
  unknownTool: -32_602,
  tells: false,
  farewell: "exit"
}

const latest = "2025-11-25"
const modern = "2026-07-28"

/** What a server of a revision cannot know because it was not there yet. */
const before = (revision: string): ReadonlyArray<keyof Features> => [
  ...(revision < "2025-06-18" ? (["elicits", "elicitsSlowly"] as const) : []),
  ...(revision < "2025-03-26" ? (["completion"] as const) : [])
]

const rawCapabilities = (revision: string) => ({
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  logging: {},
  ...(revision < "2025-03-26" ? {} : { completions: {} })
})

const rawSubject = (revision: string): Subject => ({
  name: `stdio, no SDK, revision ${revision}`,
  transport: "stdio",
  era: "legacy",
  protocolVersion: revision,
  // that revision, and no other, has several messages in one
  start: raw({ revision, capabilities: rawCapabilities(revision), batch: revision === "2025-03-26" }),
  features: {
    ...without(ours, ...before(revision)),
    serverName: "contract-raw",
    pages: 3,
    capabilities: Object.keys(rawCapabilities(revision)),
    farewell: "exit"
  }
})

const onStdio = (name: string, features: Features, args: ReadonlyArray<string>): Subject => ({
  name: `stdio, ${name}`,
  transport: "stdio",
  era: "legacy",
  protocolVersion: latest,
  start: stdio(args),
  features: { ...features, farewell: "exit" }
})

const inModernEra = (subject: Subject, features: Features): Subject => ({
  ...subject,
  era: "modern",
  protocolVersion: modern,
  features: { ...features, ...(subject.features.farewell === undefined ? {} : { farewell: subject.features.farewell }) }
})

const onHttp = (
  name: string,
  features: Features,
  args: ReadonlyArray<string>,
  options: Parameters<typeof http>[1] = {}
): Subject => ({
  name: `${options.type === "sse" ? "SSE" : "HTTP"}, ${name}`,
  transport: options.type === "sse" ? "sse" : "streamable-http",
  era: "legacy",
  protocolVersion: latest,
  start: http(args, options),
  features
})

export const v1Script = here("v1.mjs")
export const v2Script = here("v2.mjs")
const everythingScript = bin("server-everything/dist/index.js")

export const subjects = (options: { readonly python: boolean }): ReadonlyArray<Subject> => [
  onStdio("SDK v1", v1, [v1Script, "stdio"]),
  onStdio("SDK v2 that knows the older revisions only", v2, [v2Script, "stdio", "legacy"]),
  onStdio("SDK v2 for both eras", v2, [v2Script, "stdio", "dual"]),
  inModernEra(onStdio("SDK v2 for the modern era only", v2, [v2Script, "stdio", "modern"]), v2Modern),
  ...["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"].map(rawSubject),
  onStdio("server-everything", everything, [everythingScript, "stdio"]),
  {
    ...onStdio("server-filesystem", filesystem, []),
    start: () =>
      Effect.flatMap(directory, (path) => stdio([bin("server-filesystem/dist/index.js"), path], { cwd: path })())
  },
  {
    ...onStdio("websearch.py", websearch, []),
    start: () =>
      Effect.succeed({ type: "local", command: ["python3", join(repositoryRoot, "examples/servers/websearch.py")] }),
    skip: !options.python
  },
  onHttp("SDK v1 with sessions", { ...v1, farewell: "DELETE" }, [v1Script, "http"]),
  onHttp("SDK v1 without sessions", oneAnswer, [v1Script, "json"]),
  onHttp("SDK v2 that knows the older revisions only", { ...v2, farewell: "DELETE" }, [v2Script, "http", "legacy"]),
  inModernEra(
    onHttp("SDK v2 for both eras", v2, [v2Script, "http", "dual"]),
    // there a caller who leaves says so by leaving
    { ...v2Modern, waiting: { ...ours.waiting!, cancellations: 0 } }
  ),
  inModernEra(onHttp("SDK v2 for the modern era only", v2, [v2Script, "http", "modern"]), {
    ...v2Modern,
    waiting: { ...ours.waiting!, cancellations: 0 }
  }),
  onHttp("server-everything", { ...everything, farewell: "DELETE" }, [everythingScript, "streamableHttp"]),
  onHttp("SDK v1", { ...v1, farewell: "stream" }, [v1Script, "sse"], { type: "sse", path: "/sse" }),
  onHttp("server-everything", { ...everything, farewell: "stream" }, [everythingScript, "sse"], {
    type: "sse",
    path: "/sse"
  })
]
