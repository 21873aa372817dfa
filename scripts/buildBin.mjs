// Bundles the program: the front, which is all that help and completions need, and chunks that are loaded on demand.
import { chmodSync, copyFileSync, readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const root = fileURLToPath(new URL("..", import.meta.url))
const outdir = process.argv[2] ?? join(root, "dist", "bin")

/** The front must stay small: every start loads all of it. */
const maxFront = 60_000

const shared = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // the main file of one package only works in a single bundle
  mainFields: ["module", "main"],
  legalComments: "none",
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: "warning",
  absWorkingDir: root
}

// CommonJS packages load Node's modules with `require`
const banner = {
  js: 'import{createRequire as $require}from"node:module";const require=$require(import.meta.url);'
}

/** Keeps imports of separately built files unchanged. */
const apart = {
  name: "apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\/(program|quickList)\.js$/ }, ({ path }) => ({ path, external: true }))
}

rmSync(outdir, { recursive: true, force: true })
const [front] = await Promise.all([
  build({
    ...shared,
    entryPoints: ["src/bin.ts"],
    outfile: join(outdir, "mcp-supervisor.js"),
    plugins: [apart],
    metafile: true
  }),
  build({ ...shared, entryPoints: ["src/cli/quickList.ts"], outfile: join(outdir, "quickList.js") }),
  build({
    ...shared,
    entryPoints: ["src/cli/program.ts"],
    outdir,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    banner
  })
])

// the example servers run anywhere: their dependencies are bundled
const demo = join(outdir, "..", "demo")
await build({
  ...shared,
  entryPoints: ["greet", "todo", "clock"].map((name) => `examples/servers/${name}.mjs`),
  outdir: demo,
  outExtension: { ".js": ".mjs" },
  banner
})
copyFileSync(join(root, "examples/servers/websearch.py"), join(demo, "websearch.py"))

const [{ bytes, inputs }] = Object.values(front.metafile.outputs)
const foreign = Object.entries(inputs).filter(
  ([name, { bytesInOutput }]) => /node_modules\/@?effect\//.test(name) && bytesInOutput > 0
)
if (bytes > maxFront || foreign.length > 0) {
  console.error(`the front of the program has ${bytes} bytes, and ${foreign.length} modules of effect in it:`)
  for (const [name] of foreign.slice(0, 10)) console.error(`  ${name}`)
  process.exit(1)
}
chmodSync(join(outdir, "mcp-supervisor.js"), 0o755)
const files = readdirSync(outdir, { recursive: true }).filter((name) => name.endsWith(".js"))
const size = files.reduce((sum, name) => sum + statSync(join(outdir, name)).size, 0)
console.log(`bin: ${files.length} files, ${Math.round(size / 1024)} KiB, the front ${Math.round(bytes / 1024)} KiB`)
