import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8")

interface Manifest {
  readonly [kind: `${string}ependencies`]: Record<string, string>
}

describe("the README", () => {
  const readme = read("README.md")

  it("shows the examples as they are", () => {
    for (const example of ["examples/session.mjs", "examples/pure-core.mjs"]) assert.include(readme, read(example))
  })

  it("gives a reason for every dependency", () => {
    const { dependencies, devDependencies, peerDependencies } = JSON.parse(read("package.json")) as Manifest
    for (const name of Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies })) {
      assert.include(readme, `\`${name}\``)
    }
  })

  it("links to nothing that is not there", () => {
    const pages = [
      "README.md",
      "CONTRIBUTING.md",
      "docs/architecture.md",
      "docs/cli.md",
      "docs/configuration.md",
      "docs/connections.md",
      "docs/testing.md",
      "docs/writing-servers.md",
      "bench/README.md",
      "docs/lifecycle.md",
      "docs/decisions/README.md"
    ]
    for (const page of pages) {
      for (const [, target] of read(page).matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
        const url = new URL(target!, new URL(`../${page}`, import.meta.url))
        assert.doesNotThrow(() => readFileSync(url.pathname.endsWith("/") ? new URL("README.md", url) : url), page)
      }
    }
  })
})
