import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { examples, local, remote } from "../../scripts/configurationPage.js"
import { ServerConfig } from "../../src/index.js"

/** The entry that an example belongs to, with variables as if they were put in. */
const entryWith = (path: string, base: object): object => {
  const value = JSON.parse(
    JSON.stringify(examples[path]).replace(/\{(?:env|file):[^}]*\}|\$\{[^}]*\}/g, "put-in")
  ) as unknown
  return { ...base, ...path.split(".").reduceRight<object>((inner, key) => ({ [key]: inner }), value as object) }
}

describe("docs/configuration.md", () => {
  it.each(local.map(({ path }) => [path]))("shows an example of %s that is right for a local server", (path) => {
    const { warnings } = Either.getOrThrow(ServerConfig.decode("x", entryWith(path, { command: "x" })))
    assert.deepStrictEqual(
      warnings.map(({ code }) => code),
      []
    )
  })

  it.each(remote.filter(({ path }) => path !== "type").map(({ path }) => [path]))(
    "shows an example of %s that is right for a remote server",
    (path) => {
      const decoded = ServerConfig.decode("x", entryWith(path, { url: "https://x.example.com" }))
      assert.deepStrictEqual(Either.getOrThrow(decoded).warnings, [])
    }
  )
})
