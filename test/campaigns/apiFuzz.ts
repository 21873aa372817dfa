import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request as send } from "node:http"
import { join } from "node:path"
import { machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, openFilesOf, processesWith, serve } from "../hostile/surface.js"
import { type Campaign, counted, pause, type Random } from "./campaign.js"
import { worker } from "./support.js"

interface Schema {
  readonly type?: string
  readonly $ref?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
}

interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> } }
        >
      >
    >
  >
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Whether the head announces no body: then the bytes after the request are no HTTP. */
  readonly isHidden: boolean
}

interface Got {
  readonly status: number
  readonly text: string
  readonly type: string
  readonly ms: number
}

const odd = [
  "",
  "a",
  "%",
  "%00",
  "%2F",
  "..",
  "a%2Fb",
  "%F0%9F%98%80",
  "x".repeat(3_000),
  "__proto__",
  "a?b=c",
  "%E0%A4%A"
]
const texts = [
  "",
  "a",
  "echo",
  "nothing",
  "\u0000",
  "\u202e",
  "😀",
  "x".repeat(10_000),
  "__proto__",
  "http://127.0.0.1:9/"
]

/** A value that matches a schema, or nearly. Commands come from a short list, because added servers are started. */
const valueOf = (schema: Schema | undefined, all: OpenApi, random: Random, depth = 0): unknown => {
  if (schema === undefined || depth > 6 || random.chance(0.08)) return junk(random, depth)
  if (schema.$ref !== undefined)
    return valueOf(all.components?.schemas?.[schema.$ref.split("/").at(-1)!], all, random, depth + 1)
  const union = schema.anyOf ?? schema.oneOf
  if (union !== undefined) return valueOf(random.pick(union), all, random, depth + 1)
  if (schema.enum !== undefined) return random.pick(schema.enum)
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(() => random.chance(0.8))
          .map(([key, value]) => [key, key === "command" ? "true" : valueOf(value, all, random, depth + 1)])
      )
    case "array":
      return Array.from({ length: random.between(0, 3) }, () => valueOf(schema.items, all, random, depth + 1))
    case "string":
      return random.pick(texts)
    case "number":
    case "integer":
      return random.pick([0, 1, -1, 1e308, 0.5, 2 ** 53])
    case "boolean":
      return random.chance(0.5)
    default:
      return junk(random, depth)
  }
}

const junk = (random: Random, depth: number): unknown =>
  depth > 6
    ? null
    : random.pick<() => unknown>([
        () => null,
        () => random.pick(texts),
        () => random.between(-5, 5),
        () => [junk(random, depth + 1)],
        () => ({ [random.pick(texts)]: junk(random, depth + 1) })
      ])()

const bodyOf = (value: unknown, random: Random): string => {
  const text = JSON.stringify(value) ?? "null"
  if (random.chance(0.85)) return text
  return random.pick([text.slice(0, -1), `${text}${text}`, "", "{", "[".repeat(1_000), "\u0000", `\uFEFF${text}`])
}

const requestOf = (api: OpenApi, token: string, random: Random): Sent => {
  const template = random.pick(Object.keys(api.paths))
  const methods = Object.keys(api.paths[template]!)
  const method = random.chance(0.85)
    ? random.pick(methods)
    : random.pick(["get", "post", "put", "delete", "patch", "options", "head"])
  const path = template.replace(/\{\w+\}|:\w+/g, () => random.pick(odd))
  const schema = api.paths[template]![method]?.requestBody?.content?.["application/json"]?.schema
  const hasBody = method !== "get" && method !== "head" && random.chance(0.9)
  const body = hasBody ? bodyOf(valueOf(schema, api, random), random) : undefined
  // for these methods, Node does not announce a body by itself
  const isHidden = body !== undefined && ["delete", "options"].includes(method) && random.chance(0.1)
  return {
    method: method.toUpperCase(),
    path: random.chance(0.1) ? `${path}?${random.pick(odd)}=${random.pick(odd)}` : path,
    headers: {
      ...(random.chance(0.93)
        ? { authorization: `Bearer ${token}` }
        : random.chance(0.5)
          ? { authorization: "Bearer x" }
          : {}),
      ...(random.chance(0.93) ? { "content-type": "application/json" } : { "content-type": "text/plain" }),
      ...(body === undefined || isHidden ? {} : { "content-length": String(Buffer.byteLength(body)) }),
      ...(random.chance(0.05) ? { origin: "http://example.test" } : {}),
      ...(random.chance(0.03) ? { host: "example.test" } : {}),
      ...(random.chance(0.05) ? { accept: "text/event-stream" } : {}),
      ...(random.chance(0.03) ? { "last-event-id": random.pick(["x", "1-1", "-1"]) } : {})
    },
    body,
    isHidden
  }
}

/** A stream is read only for a moment. */
const ask = (address: string, { body, headers, method, path }: Omit<Sent, "isHidden">): Promise<Got | string> =>
  new Promise((resolve) => {
    const begin = performance.now()
    const { hostname, port } = new URL(address)
    const took = () => Math.round(performance.now() - begin)
    let request: ReturnType<typeof send>
    try {
      request = send({ hostname, port, path: path.replaceAll(" ", "%20"), method, headers, agent: false })
    } catch (error) {
      return resolve(`${method} ${path.slice(0, 60)} could not be sent: ${String(error)}`)
    }
    const timer = setTimeout(() => {
      resolve(`${method} ${path.slice(0, 60)}: no answer within 30 s`)
      request.destroy()
    }, 30_000)
    const done = (got: Got | string) => {
      clearTimeout(timer)
      resolve(got)
    }
    request.on("error", (error: NodeJS.ErrnoException) =>
      done(error.code === "ECONNREFUSED" ? "the daemon is gone" : "reset")
    )
    request.on("response", (response) => {
      const type = response.headers["content-type"] ?? ""
      const status = response.statusCode ?? 0
      if (type.startsWith("text/event-stream")) {
        done({ status, text: "", type, ms: took() })
        return void request.destroy()
      }
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (part) => (text += part))
      response.on("end", () => done({ status, text, type, ms: took() }))
      response.on("error", () => done("reset"))
    })
    request.end(body)
  })

const shapeOf = (text: string): boolean => {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly tag?: unknown; readonly message?: unknown } }
    return typeof error?.tag === "string" && typeof error.message === "string"
  } catch {
    return false
  }
}

/** A server that is starting while descriptors are counted has three pipes. */
const spareFiles = 3

export const apiFuzz: Campaign = {
  name: "api-fuzz",
  guarantee:
    "Every request to the API that is valid HTTP gets a response, never with status 500; every error has the documented form, and no descriptor stays open.",
  run: async ({ isOver, random, size }) => {
    const total = size === "large" ? 10_000 : 600
    const mark = newMark()
    const here = machine("api")
    const directory = join(here.directory, "config", "mcp-supervisor")
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, "config.json"), JSON.stringify({ mcp: { a: worker(mark) } }))
    const { address, child } = await serve(here)
    child.stderr?.resume()
    const token = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
    const authorized = { authorization: `Bearer ${token}` }
    const described = await ask(address, { method: "GET", path: "/openapi.json", headers: authorized, body: undefined })
    if (typeof described === "string") throw new Error(described)
    const api = JSON.parse(described.text) as OpenApi
    const files = openFilesOf(child.pid!)
    const violations: Array<string> = []
    const statuses = new Map<number, number>()
    let slowest = 0
    let sentCount = 0
    let resets = 0
    const one = async () => {
      const sent = requestOf(api, token, random)
      const what = `${sent.method} ${sent.path.slice(0, 60)}`
      const got = await ask(address, sent)
      sentCount += 1
      // a connection with invalid HTTP is closed, possibly before the response to an earlier valid request arrives
      if (got === "reset" && sent.isHidden) return void (resets += 1)
      if (got === "reset")
        return void violations.push(
          `${what}: the connection was closed without an answer to ${sent.body?.slice(0, 200)}`
        )
      if (typeof got === "string") return void violations.push(got)
      statuses.set(got.status, (statuses.get(got.status) ?? 0) + 1)
      slowest = Math.max(slowest, got.ms)
      if (got.status === 500) violations.push(`${what}: 500 ${got.text.slice(0, 100)} for ${sent.body?.slice(0, 200)}`)
      if (got.status >= 400 && sent.method !== "HEAD" && !shapeOf(got.text))
        violations.push(
          `${what}: ${got.status} has another shape: ${got.text.slice(0, 100)} for ${sent.body?.slice(0, 200)}`
        )
    }
    for (let count = 0; count < total && !isOver(); count += 10) await Promise.all(Array.from({ length: 10 }, one))
    const well = [...statuses].reduce((sum, [status, count]) => sum + (status < 300 ? count : 0), 0)
    // more of the requests that are generated from the API description are valid
    if (well < sentCount / 5) violations.push(`only ${well} of ${sentCount} requests were answered with 2xx`)
    const patience = Date.now() + 5_000
    const isBack = () => openFilesOf(child.pid!) <= files + spareFiles
    while (!isBack() && Date.now() < patience) await pause(50)
    if (!isBack()) violations.push(`${openFilesOf(child.pid!)} open files, ${files} before`)
    const stopped = await here.run(["stop"])
    if (stopped.code !== 0) violations.push(`stop exits with ${stopped.code}: ${stopped.stderr.slice(-200)}`)
    child.kill("SIGKILL")
    const left = await awaitNoProcess(mark, 2_000)
    if (left.length > 0) violations.push(`${left.length} processes are left`)
    for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
    here.remove()
    return {
      figures: {
        requests: sentCount,
        "2xx": well,
        statuses: [...statuses.keys()].sort((a, b) => a - b).join(" "),
        resets,
        "slowest ms": slowest
      },
      violations: counted(violations)
    }
  }
}
