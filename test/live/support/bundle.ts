/** Programs of tests as one file each, so that starting one costs no more than starting a program. */
import { rmSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const bundles = new Map<string, Promise<string>>()

/** The file to run for a program beside this one. It is gone when this process is. */
export const bundle = (file: string): Promise<string> => {
  const made = bundles.get(file) ?? make(file)
  bundles.set(file, made)
  return made
}

const make = async (file: string): Promise<string> => {
  const name = `${basename(file, ".ts")}-${process.pid}.mjs`
  // where the packages it needs are found
  const outfile = fileURLToPath(new URL(`../../../node_modules/.cache/tests/${name}`, import.meta.url))
  process.once("exit", () => rmSync(outfile, { force: true }))
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
  return outfile
}
