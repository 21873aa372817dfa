import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8")

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>
}

const lockfile: Lockfile = JSON.parse(read("package-lock.json"))
const { allowScripts }: { readonly allowScripts: Readonly<Record<string, boolean>> } = JSON.parse(read("package.json"))

const withScript = Object.entries(lockfile.packages)
  .filter(([, { hasInstallScript }]) => hasInstallScript)
  .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length))

describe("packages with an install script", () => {
  it("are each allowed or denied by name, with the reason in the README", () => {
    assert.isNotEmpty(withScript)
    for (const name of withScript) assert.property(allowScripts, name)
    const reasons = read("README.md").split("`allowScripts`")[1]!
    for (const name of Object.keys(allowScripts)) assert.include(reasons, `\`${name}\``)
  })
})
