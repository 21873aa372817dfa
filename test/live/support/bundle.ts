/** Bundles programs of tests into one file each, so that they start fast. */
import { readdirSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build, type Plugin } from "esbuild"

const bundles = new Map<string, Promise<string>>()

/** The file to run for a program, whose path is seen from here. It is for this process only. */
export const bundle = (file: string): Promise<string> => {
  const made = bundles.get(file) ?? make(file)
  bundles.set(file, made)
  return made
}

const make = async (file: string): Promise<string> => {
  const entry = fileURLToPath(new URL(file, import.meta.url))
  // programs that come as built files are all called the same
  const name = `${basename(entry, ".ts").replace(".js", `-${bundles.size}`)}-${process.pid}.mjs`
  const outfile = fileURLToPath(new URL(`../../../node_modules/.cache/tests/${name}`, import.meta.url))
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    mainFields: ["module", "main"],
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
    plugins: [completeFs],
    logLevel: "silent"
  })
  tidy(dirname(outfile))
  return outfile
}

/**
 * The conformance suite imports `globSync` from "fs", which Node has from version 22 on, for a command that is not used here.
 * Without it the suite does not even load.
 */
const completeFs: Plugin = {
  name: "complete-fs",
  setup: (build) => {
    build.onResolve({ filter: /^fs$/ }, ({ importer, path }) =>
      importer.includes("conformance") ? { path, namespace: "complete-fs" } : undefined
    )
    build.onLoad({ filter: /.*/, namespace: "complete-fs" }, () => ({
      contents: `export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => []`
    }))
  }
}

/** Processes that run tests are killed at the end, so the next one removes their files. */
const tidy = (directory: string) => {
  for (const name of readdirSync(directory)) {
    const [, pid] = /-(\d+)\.mjs$/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(directory, name), { force: true })
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
