import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, normalize, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import ts from "typescript"
import { headline, rooms } from "../scripts/architectureMap.js"

const sourceRoot = fileURLToPath(new URL("../src/", import.meta.url))
const testRoot = fileURLToPath(new URL(".", import.meta.url))

interface Import {
  readonly file: string
  readonly specifier: string
}

const sources = readdirSync(sourceRoot, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.split(sep).join("/"))

const importsOf = (file: string): ReadonlyArray<Import> =>
  ts
    .preProcessFile(readFileSync(join(sourceRoot, file), "utf8"), true, true)
    .importedFiles.map(({ fileName }) => ({ file, specifier: fileName }))

const imports = sources.flatMap(importsOf)

/** The room a file is in; files at the top are the root of the house. */
const roomOf = (file: string): string => (file.includes("/") ? file.slice(0, file.indexOf("/")) : "root")

const targetRoom = ({ file, specifier }: Import): string =>
  roomOf(
    normalize(join(dirname(file), specifier))
      .split(sep)
      .join("/")
  )

/** Which rooms a room may import, besides itself. */
const mayImport: Record<string, ReadonlyArray<string>> = {
  domain: [],
  system: ["domain"],
  connection: ["system", "domain"],
  auth: ["connection", "system", "domain"],
  config: ["system", "domain"],
  supervision: ["connection", "auth", "system", "domain"],
  control: ["supervision", "auth", "system", "domain"],
  daemon: ["control", "config", "system", "domain"],
  testing: ["connection", "system", "domain"],
  cli: ["root", "daemon", "config", "control", "supervision", "connection", "auth", "system", "domain"],
  root: ["daemon", "config", "control", "cli", "supervision", "connection", "auth", "system", "domain"]
}

/** All that the pure core may know of the world outside: descriptions and pure functions. */
const pure = new Set([
  "effect/Array",
  "effect/Duration",
  "effect/Either",
  "effect/Encoding",
  "effect/JSONSchema",
  "effect/Option",
  "effect/ParseResult",
  "effect/Predicate",
  "effect/Record",
  "effect/Redacted",
  "effect/Schedule",
  "effect/ScheduleDecision",
  "effect/ScheduleInterval",
  "effect/Schema",
  "effect/SchemaAST",
  "leven",
  "node:crypto",
  "node:path",
  "picomatch"
])

/** Globals that act, or that answer differently from one moment to the next. */
const acting = new Set([
  "Date",
  "Math.random",
  "console",
  "crypto",
  "fetch",
  "globalThis",
  "performance",
  "process",
  "queueMicrotask",
  "setImmediate",
  "setInterval",
  "setTimeout"
])

/** Names of types that are used through their module, such as `ControlServer.Options`. */
const usedThroughModule = new Set(["Options", "Service", "Shape", "Script"])

const show = ({ file, specifier }: Import) => `${file} imports ${specifier}`

describe("the folders of src", () => {
  it("are only known rooms", () => {
    assert.deepStrictEqual(
      sources.filter((file) => !(roomOf(file) in mayImport)),
      []
    )
  })

  it("import each other in one direction only", () => {
    const against = imports
      .filter(({ specifier }) => specifier.startsWith("."))
      .filter((each) => {
        const room = roomOf(each.file)
        const target = targetRoom(each)
        return target !== room && !mayImport[room]!.includes(target)
      })
    assert.deepStrictEqual(against.map(show), [])
  })

  it("import the MCP SDK in connection/sdk and auth only", () => {
    const strays = imports
      .filter(({ specifier }) => specifier.startsWith("@modelcontextprotocol/"))
      .filter(({ file }) => !/^(connection\/sdk\/.*|auth\/.*)$/.test(file))
    assert.deepStrictEqual(strays.map(show), [])
  })

  it("interpret daemon.json and its lock in daemon/ only: commands use DaemonState or discover", () => {
    const interpreting = imports
      .filter(({ file }) => file.startsWith("cli/"))
      .filter(({ specifier }) => /\/daemon\/(DaemonFile|socketPath)\.js$/.test(specifier))
    assert.deepStrictEqual(interpreting.map(show), [])
    const readingLocks = nodes()
      .filter(({ node }) => isHolder(node))
      .map(({ file }) => file)
    assert.deepStrictEqual(readingLocks, ["daemon/DaemonState.ts"])
  })

  it("name the environment variables of the program in system/environment.ts only", () => {
    const naming = nodes()
      .filter(({ node }) => {
        const isText = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isIdentifier(node)
        return isText && node.text.includes("MCP_SUPERVISOR_")
      })
      .map(({ file }) => file)
    assert.deepStrictEqual([...new Set(naming)], ["system/environment.ts"])
  })

  it("have at most 16 files each", () => {
    const counts = new Map<string, number>()
    for (const file of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    assert.deepStrictEqual(
      [...counts].filter(([, count]) => count > 16),
      []
    )
  })

  it("have no two files with one name, except index and model", () => {
    const byName = new Map<string, ReadonlyArray<string>>()
    for (const file of sources) byName.set(basename(file), [...(byName.get(basename(file)) ?? []), file])
    const shared = [...byName].filter(([name, files]) => files.length > 1 && !/^(index|model)\.ts$/.test(name))
    assert.deepStrictEqual(shared, [])
  })

  it("export no type name twice within a room: one name has one meaning", () => {
    const filesOf = new Map<string, Set<string>>()
    for (const { file, node } of nodes()) {
      const isType = ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)
      if (!isType || node.name === undefined) continue
      if (node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true) continue
      const key = `${roomOf(file)}: ${node.name.text}`
      filesOf.set(key, (filesOf.get(key) ?? new Set()).add(file))
    }
    const shared = [...filesOf]
      .filter(([key, files]) => files.size > 1 && !usedThroughModule.has(key.slice(key.indexOf(" ") + 1)))
      .map(([key, files]) => `${key} in ${[...files].join(", ")}`)
    assert.deepStrictEqual(shared, [])
  })

  it("are on the map: the table of rooms names each folder, and each has a map of its files", () => {
    const page = readFileSync(new URL("../docs/architecture.md", import.meta.url), "utf8")
    const table = Array.from(page.matchAll(/^\| `(\w+)\/` \|/gm), ([, room]) => room!)
    assert.sameMembers(table, [...rooms()])
    const maps = Array.from(page.matchAll(/^<!-- map of (\S+) -->$/gm), ([, room]) => room!)
    assert.sameMembers(maps, [".", ...rooms()])
  })

  it("have a header comment in each file that says what the file does", () => {
    const silent = sources.filter((file) => headline(readFileSync(join(sourceRoot, file), "utf8")) === undefined)
    assert.deepStrictEqual(silent, [])
  })

  it("import single modules of effect, not the barrel", () => {
    assert.deepStrictEqual(imports.filter(({ specifier }) => specifier === "effect").map(show), [])
  })
})

const isHolder = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) && node.name.text === "holder" && node.expression.getText() === "FileLock"

describe("comments and documents", () => {
  const texts = [sourceRoot, fileURLToPath(new URL("../docs/", import.meta.url))].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ts|md)$/.test(file))
      .map((file) => [file, readFileSync(join(root, file), "utf8")] as const)
  )

  it("name the acting component: few words for unknown people", () => {
    const found = texts.flatMap(([file, text]) =>
      Array.from(text.matchAll(/\b(whoever|somebody|nobody|himself)\b/gi), ([word]) => `${file}: ${word}`)
    )
    assert.isAtMost(found.length, 20, found.join("\n"))
  })

  it("begin no doc comment with a reference to another one", () => {
    const found = texts.filter(([, text]) => /\/\*\*\s*(\*\s*)?The same\b/.test(text)).map(([file]) => file)
    assert.deepStrictEqual(found, [])
  })
})

describe("test files", () => {
  it("have at most 520 lines each", () => {
    const long = readdirSync(testRoot, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => [file, readFileSync(join(testRoot, file), "utf8").trimEnd().split("\n").length] as const)
      .filter(([, lines]) => lines > 520)
    assert.deepStrictEqual(long, [])
  })
})

/** Functions that are given a short list: types and words known at build time, parts of one path, or the tuple of their parameters. */
const mayBeSpreadInto = new Set(["Schema.Union", "Schema.Literal", "join", "once", "sign", "ask"])

describe("calls", () => {
  it("never spread a list of unknown length into arguments: V8 fails above about 120,000", () => {
    const found = nodes().flatMap(({ file, node }) => {
      const isCall = ts.isCallExpression(node) || ts.isNewExpression(node)
      if (!isCall || !(node.arguments ?? []).some(ts.isSpreadElement)) return []
      const callee = node.expression.getText()
      return mayBeSpreadInto.has(callee) ? [] : [`${file} spreads into ${callee}`]
    })
    assert.deepStrictEqual(found, [])
  })

  it("never import a name of a package at run time: in the bundle a CommonJS package has `default` only", () => {
    const found = nodes().flatMap(({ file, node }) => {
      if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name)) return []
      const specifier = /^await import\("([^."][^"]*)"\)$/.exec(node.initializer?.getText() ?? "")?.[1]
      if (specifier === undefined || specifier.startsWith("node:")) return []
      const names = node.name.elements.map(({ name, propertyName }) => (propertyName ?? name).getText())
      return names.every((name) => name === "default") ? [] : [`${file} imports ${names.join(", ")} of ${specifier}`]
    })
    assert.deepStrictEqual(found, [])
  })
})

describe("the domain", () => {
  const files = sources.filter((file) => roomOf(file) === "domain")

  it("imports nothing that has side effects", () => {
    const impure = files
      .flatMap(importsOf)
      .filter(({ specifier }) => !specifier.startsWith(".") && !pure.has(specifier))
    assert.deepStrictEqual(impure.map(show), [])
  })

  it("imports only hashing from node:crypto", () => {
    for (const file of files) {
      const text = readFileSync(join(sourceRoot, file), "utf8")
      if (text.includes("node:crypto")) assert.include(text, 'import { createHash } from "node:crypto"', file)
    }
  })

  it("uses no global that has side effects", () => {
    const found = files.flatMap((file) => {
      const code = ts.createSourceFile(file, readFileSync(join(sourceRoot, file), "utf8"), ts.ScriptTarget.ES2022, true)
      return identifiers(code)
        .filter((name) => acting.has(name))
        .map((name) => `${file} uses ${name}`)
    })
    assert.deepStrictEqual(found, [])
  })
})

let visited: ReadonlyArray<{ readonly file: string; readonly node: ts.Node }> | undefined

/** Every node of every source file. */
const nodes = () =>
  (visited ??= sources.flatMap((file) => {
    const found: Array<{ readonly file: string; readonly node: ts.Node }> = []
    const visit = (node: ts.Node) => {
      found.push({ file, node })
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(file, readFileSync(join(sourceRoot, file), "utf8"), ts.ScriptTarget.ES2022, true))
    return found
  }))

/** Names as they are used in code: comments, strings and types left aside, `Math.random` as one. */
const identifiers = (node: ts.Node): ReadonlyArray<string> => {
  if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return []
  if (ts.isPropertyAccessExpression(node)) {
    const { expression, name } = node
    return ts.isIdentifier(expression) ? [expression.text, `${expression.text}.${name.text}`] : identifiers(expression)
  }
  if (ts.isIdentifier(node)) return [node.text]
  const found: Array<string> = []
  ts.forEachChild(node, (child) => void found.push(...identifiers(child)))
  return found
}
