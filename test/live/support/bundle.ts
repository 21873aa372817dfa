/** Programs of tests as one file each, so that starting one costs no more than starting a program. */
import { readdirSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const bundles = new Map<string, Promise<string>>()

/** The file to run for a program beside this one. It is for this process only. */
export const bundle = (file: string): Promise<string> => {
  const made = bundles.get(file) ?? make(file)
  bundles.set(file, made)
  return made
}

const make = async (file: string): Promise<string> => {
  const name = `${basename(file, ".ts")}-${process.pid}.mjs`
  // where the packages it needs are found
  const outfile = fileURLToPath(new URL(`../../../node_modules/.cache/tests/${name}`, import.meta.url))
  await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "silent"
  })
  tidy(dirname(outfile))
  return outfile
}

/** Processes that run tests are killed when they are done: the next one cleans up after them. */
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
