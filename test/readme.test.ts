import { existsSync, readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const root = new URL("../", import.meta.url)

const read = (file: string) => readFileSync(new URL(file, root), "utf8")

interface Manifest {
  readonly [kind: `${string}ependencies`]: Record<string, string>
}

describe("the README", () => {
  const readme = read("README.md")

  it("shows the example files unchanged, itself or on the page about embedding", () => {
    assert.include(readme, read("examples/quickstart.mjs"))
    const embedding = read("docs/embedding.md")
    for (const example of ["embed.ts", "session.mjs", "pure-core.mjs"]) {
      assert.include(embedding, read(`examples/${example}`))
    }
  })

  it("lists all pages", () => {
    const index = read("docs/README.md")
    for (const page of readdirSync(new URL("docs/", root))) {
      if (page.endsWith(".md") && page !== "README.md") assert.include(index, `](${page})`)
    }
  })

  it("gives a reason for every dependency", () => {
    const { dependencies, devDependencies, peerDependencies } = JSON.parse(read("package.json")) as Manifest
    for (const name of Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies })) {
      assert.include(readme, `\`${name}\``)
    }
  })

  it("has no broken link, nor has any other page", () => {
    const folders = ["", "docs/", "docs/decisions/", "bench/", "examples/config/", "examples/servers/"]
    const pages = folders.flatMap((folder) =>
      readdirSync(new URL(folder, root))
        .filter((name) => name.endsWith(".md"))
        .map((name) => folder + name)
    )
    assert.isAbove(pages.length, 20)
    for (const page of pages) {
      for (const [, link] of read(page).matchAll(/\]\((?!\w+:)([^)]+)\)/g)) {
        const { hash, pathname } = new URL(link!, new URL(page, root))
        const file = pathname.endsWith("/") ? `${pathname}README.md` : pathname
        assert.isTrue(existsSync(file), `${page}: ${link}`)
        if (hash !== "") assert.include(anchors(file), decodeURIComponent(hash.slice(1)), `${page}: ${link}`)
      }
    }
  })
})

/** What the headings of a page are called in addresses. */
const anchors = (file: string): ReadonlyArray<string> =>
  Array.from(readFileSync(file, "utf8").matchAll(/^#+ (.+)$/gm), ([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  )
