import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Record, SchemaAST } from "effect"
import { local, remote } from "../../scripts/configurationPage.js"
import {
  identityKeys,
  ownKeys,
  pathKeys,
  pathsShownAs,
  shownAt,
  shownValues
} from "../../src/config/document/keyFacts.js"
import { localChanges, remoteChanges } from "../../src/domain/server/ServerConfig/configChange.js"
import * as Input from "../../src/domain/server/ServerConfig/Input.js"
import { ConfigFiles } from "../../src/index.js"
import { onMachine } from "./support.js"

const joined = (paths: ReadonlyArray<ReadonlyArray<string>>) => paths.map((path) => path.join("."))

const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(membersOf) : [ast]

/** The paths of all values of a schema that satisfy a condition. */
const pathsWhere = (is: (ast: SchemaAST.AST) => boolean, ast: SchemaAST.AST, prefix = ""): ReadonlyArray<string> =>
  membersOf(ast).flatMap((member) =>
    SchemaAST.isTypeLiteral(member)
      ? member.propertySignatures.flatMap(({ name, type }) => {
          const path = `${prefix}${String(name)}`
          return [...(is(type) || membersOf(type).some(is) ? [path] : []), ...pathsWhere(is, type, `${path}.`)]
        })
      : []
  )

const where = (is: (ast: SchemaAST.AST) => boolean) =>
  new Set([Input.Local, Input.Remote].flatMap(({ ast }) => pathsWhere(is, ast)))

const isCalled = (identifier: string) => (ast: SchemaAST.AST) =>
  Option.contains(SchemaAST.getIdentifierAnnotation(ast), identifier)

describe("the facts about the keys of an entry", () => {
  it("have a row for every key of the schema, and for no other", () => {
    const keys = new Set([...local, ...remote].map(({ path }) => path))
    assert.sameMembers(joined(shownValues.map(([path]) => path)), [...keys])
  })

  it("assign each key of one kind of server to it", () => {
    const locals = Object.keys(Input.Local.fields)
    const remotes = Object.keys(Input.Remote.fields)
    assert.includeMembers(
      [...ownKeys.local],
      locals.filter((key) => !remotes.includes(key))
    )
    assert.sameMembers(
      [...ownKeys.remote],
      remotes.filter((key) => !locals.includes(key))
    )
    assert.includeMembers(locals, [...ownKeys.local])
  })

  it("count every key that opens a new link to the identity, except the protocol revision", () => {
    const changes = { ...Record.remove(localChanges, "_tag"), ...Record.remove(remoteChanges, "_tag") }
    const keys = Object.entries(changes).flatMap(([key, change]) => (change === "settings" ? [] : [key]))
    const spelled = keys.filter((key) => key !== "protocol").map((key) => (key === "transport" ? "type" : key))
    assert.includeMembers([...identityKeys], spelled)
    assert.sameMembers([...identityKeys], [...spelled, "env", "roots", "secrets"])
  })

  it("show URLs as URLs, durations as durations and words as words", () => {
    assert.sameMembers(joined(pathsShownAs("url")), [...where(isCalled("HttpUrl"))])
    assert.includeMembers(joined(pathsShownAs("measure")), [...where(isCalled("Duration"))])
    const words = where((ast) => SchemaAST.isLiteral(ast) && typeof ast.literal === "string")
    assert.sameMembers(joined([...pathsShownAs("word"), ["restart", "maxRestarts"]]), [...words, "oauth.alg"])
  })

  it("name the files, the secrets and the words of the command", () => {
    assert.sameMembers([...pathKeys], ["cwd", "caFile", "roots"])
    const secrets = ["environment", "env", "headers", "secrets", "oauth.clientSecret", "oauth.privateKeyPem"]
    assert.sameMembers(joined(pathsShownAs("secret")), secrets)
    assert.deepStrictEqual([...pathsShownAs("program"), ...pathsShownAs("arguments")], [["command"], ["args"]])
  })

  it("hide a value where the schema has none", () => {
    for (const path of [
      [],
      ["x"],
      ["constructor"],
      ["timeout.connect"],
      ["timeout", "x"],
      ["timeout", "connect", "x"],
      ["oauth", 0],
      ["url", 0],
      ["args"],
      ["args", "x"],
      ["args", 0, 0],
      ["roots"]
    ]) {
      assert.strictEqual(shownAt(path), "hidden", path.join("."))
    }
    assert.strictEqual(shownAt(["args", 1]), "arguments")
    assert.strictEqual(shownAt(["oauth", "tokenUrl"]), "url")
  })

  onMachine("drop privateNetwork if a higher layer makes the server a local one", (machine) =>
    Effect.gen(function* () {
      const write = (file: string, entry: object) => machine.write(file, JSON.stringify({ mcp: { a: entry } }))
      const files = [
        write("low.json", { url: "https://a.example/", privateNetwork: true }),
        write("middle.json", { command: "x" })
      ]
      const { desired, diagnostics } = yield* ConfigFiles.load({ ...machine.host, files })
      assert.deepStrictEqual(diagnostics, [])
      assert.notProperty(desired.servers?.a, "privateNetwork")
      const high = write("high.json", { url: "https://b.example/" })
      const again = yield* ConfigFiles.load({ ...machine.host, files: [...files, high] })
      assert.notProperty(again.desired.servers?.a, "privateNetwork")
    })
  )

  onMachine("show the issuer of a login like its other URLs", (machine) =>
    Effect.gen(function* () {
      const entry = { url: "https://a.example/", oauth: { issuer: "https://issuer.example/" } }
      machine.write("mcp-supervisor.json", JSON.stringify({ mcp: { a: entry } }))
      const { review } = yield* ConfigFiles.review(machine.host)
      const parts = review.files[0]!.entries[0]!.parts.map(({ label, text }) => [label, text])
      assert.deepInclude(parts, ["oauth.issuer", "https://issuer.example/"])
      yield* ConfigFiles.trust(machine.host)
      const { servers } = yield* ConfigFiles.explain(machine.host)
      const shown = servers[0]?.values.find(({ path }) => path.join(".") === "oauth.issuer")
      assert.strictEqual(shown?.value, "https://issuer.example/")
    })
  )
})
