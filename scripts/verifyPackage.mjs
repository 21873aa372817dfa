// Imports the built package as a user would: every entry, none of which may keep the process alive.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const { bin, exports, name, version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
// a library may check whether it writes to a terminal, which opens these streams, so open them first
void [process.stdout, process.stderr]
const before = process.getActiveResourcesInfo()
const root = await import(name)
const modules = Object.keys(exports).filter((path) => path !== "." && !path.endsWith(".json"))

// entries that are no namespaces of the root
const apart = ["./Control", "./Testing"]

assert.deepEqual(
  [...Object.keys(root).map((module) => `./${module}`), ...apart].sort(),
  modules.toSorted(),
  "the namespaces of the package and its subpaths differ"
)
for (const path of modules) {
  const module = await import(`${name}${path.slice(1)}`)
  if (!apart.includes(path)) assert.equal(module, root[path.slice(2)], `${path} is not the module of that name`)
  assert.notEqual(Object.keys(module).length, 0, `${path} exports nothing`)
}
assert.deepEqual(process.getActiveResourcesInfo(), before, "importing the package opened something")

for (const file of Object.values(bin)) {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
  assert.equal(
    execFileSync(path, ["--version"], { encoding: "utf8" }),
    `${version}\n`,
    `${file} does not run by itself`
  )
}

const pages = ["README.md", "docs/embedding.md"].map((page) =>
  readFileSync(new URL(`../${page}`, import.meta.url), "utf8")
)
const viteNode = fileURLToPath(new URL("../node_modules/vite-node/vite-node.mjs", import.meta.url))
const stateDir = mkdtempSync(join(tmpdir(), "mcp-supervisor-"))
try {
  const examples = [
    ["examples/quickstart.mjs"],
    ["examples/session.mjs"],
    ["examples/pure-core.mjs"],
    [viteNode, "examples/embed.ts"]
  ]
  for (const example of examples) {
    const source = readFileSync(new URL(`../${example.at(-1)}`, import.meta.url), "utf8")
    const env = { ...process.env, MCP_SUPERVISOR_STATE_DIR: stateDir }
    const printed = execFileSync(process.execPath, example, {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "ignore"]
    })
    const page = pages.find((text) => text.includes(source))
    assert.ok(page !== undefined, `neither the README nor docs/embedding.md shows ${example.at(-1)}`)
    assert.ok(page.includes(printed), `the page with ${example.at(-1)} does not show what it prints:\n${printed}`)
  }
} finally {
  rmSync(stateDir, { recursive: true, force: true })
}

console.log(`${name}: ${modules.length + 1} entries, nothing opened by importing them`)
