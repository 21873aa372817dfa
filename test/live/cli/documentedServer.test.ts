/** Follows docs/writing-servers.md step by step. */
import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { place } from "../support/cli.js"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const read = (file: string) => readFileSync(`${root}${file}`, "utf8")

it("the page about writing servers is correct: its server is configured, tested and called", async () => {
  const page = read("docs/writing-servers.md")
  assert.include(page, read("examples/servers/greet.mjs"))
  const [added, tested, called] = Array.from(page.matchAll(/```sh\nmcp-supervisor (.*)\n```/g), ([, line]) =>
    Array.from(line!.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, bare]) => quoted ?? bare!)
  )
  const [steps, answer] = Array.from(page.matchAll(/```text\n([^]*?)```/g), ([, text]) => text!)
  const here = await place()
  try {
    const at = ["--cwd", root]
    assert.strictEqual((await here.run([...at, ...added!])).code, 0)
    const test = await here.run([...at, ...tested!])
    assert.strictEqual(test.code, 0, test.stderr)
    const bare = test.stdout.replaceAll(/ \d+ ms$/gm, "").replaceAll(/, pid \d+/g, "")
    assert.strictEqual(bare, steps)
    assert.strictEqual((await here.run([...at, ...called!])).stdout, answer)
  } finally {
    here.remove()
  }
})
