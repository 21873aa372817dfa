import { readFileSync } from "node:fs"
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Option } from "effect"
import { ControlApi } from "../../src/control/ControlApi.js"
import { routes } from "../../src/control/server/routes.js"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(ControlApi))) as Json

/** What the contract promises. */
const promised = `
  GET /mcp, POST /mcp, POST /mcp/:name/connect, POST /mcp/:name/disconnect, POST /mcp/:name/restart, POST /mcp/:name/enable,
  POST /mcp/:name/disable, DELETE /mcp/:name, POST /mcp/:name/auth, POST /mcp/:name/auth/callback, DELETE /mcp/:name/auth, GET /auth,
  GET /servers, GET /servers/:name, GET /servers/:name/logs, GET /tools, POST /tools/:name/call, GET /resources,
  POST /resources/read, GET /prompts, POST /prompts/get, POST /reload, GET /config, POST /trust, GET /events, GET /health, GET /metrics
`
  .split(",")
  .map((route) => route.trim())

const described = Object.entries<Json>(document.paths).flatMap(([path, operations]) =>
  Object.entries<Json>(operations).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
    operation
  }))
)

const find = (value: Json, key: string): ReadonlyArray<Json> => {
  if (Array.isArray(value)) return value.flatMap((item) => find(item, key))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => (name === key ? [item] : find(item, key)))
}

describe("the OpenAPI document", () => {
  it("describes exactly the routes that are served, and all of the contract", () => {
    const known = described.map(({ route }) => route)
    assert.includeMembers(known, promised)
    assert.sameMembers(
      known,
      routes.map(({ method, path }) => `${method} ${path}`)
    )
  })

  it("is valid: references, operation ids, path parameters and error responses", () => {
    assert.strictEqual(document.openapi, "3.1.0")
    assert.deepStrictEqual(document.security, [{ token: [] }])
    assert.deepStrictEqual(document.components.securitySchemes, { token: { type: "http", scheme: "bearer" } })
    const ids = described.map(({ operation }) => operation.operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const ref of find(document, "$ref")) {
      const [, , kind, name] = ref.split("/")
      assert.property(document.components[kind], name, ref)
    }
    assert.notInclude(JSON.stringify(document), "HttpApiDecodeError")
    for (const { operation, route } of described) {
      const inPath = [...route.matchAll(/:(\w+)/g)].map(([, name]) => name)
      const declared = operation.parameters.filter((each: Json) => each.in === "path").map((each: Json) => each.name)
      assert.deepStrictEqual(declared, inPath, route)
      assert.includeMembers(Object.keys(operation.responses), ["200", "400", "401", "403", "404", "405", "413", "500"])
    }
  })

  it("has schemas that a JSON Schema validator accepts", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: "api", components: document.components })
    for (const name of Object.keys(document.components.schemas)) {
      assert.isFunction(ajv.compile({ $ref: `api#/components/schemas/${name}` }), name)
    }
    const validate = ajv.compile({ $ref: "api#/components/schemas/ServerNotFoundResponse" })
    assert.isTrue(validate({ error: { tag: "ServerNotFound", message: "m", server: "one" } }))
    assert.isFalse(validate({ error: { tag: "Other", message: "m", server: "one" } }))
  })
})

describe("docs/http-api.md", () => {
  const page = readFileSync(new URL("../../docs/http-api.md", import.meta.url), "utf8")
  const sections = new Map(
    page
      .split(/^### /m)
      .slice(1)
      .map((section) => {
        const [, route = ""] = /^`([^`]+)`/.exec(section) ?? []
        const [text = ""] = section.split(/^## /m)
        return [route, text] as const
      })
  )

  it("describes each route once, and no other", () => {
    assert.sameMembers(
      [...sections.keys()],
      routes.map(({ method, path }) => `${method} ${path}`)
    )
  })

  /** The tags and statuses of the errors of each route. */
  const errorsOf = new Map<string, ReadonlyMap<string, number>>()
  HttpApi.reflect(ControlApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors }) => {
      const tags = new Map<string, number>()
      for (const [status, { ast }] of errors) {
        const members = Option.match(ast, {
          onNone: () => [],
          onSome: (found) => (found._tag === "Union" ? found.types : [found])
        })
        for (const member of members) {
          const [, tag] =
            /"(\w+)Response"/.exec(
              JSON.stringify(Object.getOwnPropertySymbols(member.annotations).map((key) => member.annotations[key]))
            ) ?? []
          if (tag !== undefined) tags.set(tag, status)
        }
      }
      errorsOf.set(`${endpoint.method} ${endpoint.path}`, tags)
    }
  })

  const rows = new Map(
    [...page.matchAll(/^\| (`.+?) \| (\d{3}) \|/gm)].flatMap(([, names = "", status]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => [name, Number(status)] as const)
    )
  )

  const common = ["BadRequest", "Unauthorized", "Forbidden", "RouteNotFound", "MethodNotAllowed"]
  const always = new Set([...common, "PayloadTooLarge", "UnsupportedMediaType", "InternalError"])

  it("names the errors of each route, with their statuses", () => {
    for (const [route, text] of sections) {
      const [, named = ""] = /^Errors: ([\s\S]*?)\.\s*$/m.exec(text) ?? []
      const documented = [...named.matchAll(/`(\w+)`/g)].map(([, tag = ""]) => tag)
      const actual = errorsOf.get(route)!
      assert.includeMembers([...actual.keys()], [...always], route)
      assert.sameMembers(
        documented,
        [...actual.keys()].filter((tag) => !always.has(tag)),
        route
      )
      for (const [tag, status] of actual) assert.strictEqual(rows.get(tag), status, `${route} ${tag}`)
    }
  })
})
