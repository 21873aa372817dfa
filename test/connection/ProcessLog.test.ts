import { assert, describe, it } from "@effect/vitest"
import * as ProcessLog from "../../src/connection/stdio/ProcessLog.js"
import * as Secrets from "../../src/domain/Secrets.js"

const setup = () => {
  const lines: Array<string> = []
  const secrets = Secrets.make(["hunter2hunter2"])
  const scrubBeginning = Secrets.scrubBeginning(secrets)
  const log = ProcessLog.make({
    scrub: Secrets.scrub(secrets),
    scrubBeginning,
    onLine: ({ source, text }) => lines.push(`${source} ${text}`)
  })
  return { log, lines }
}

describe("ProcessLog", () => {
  it("splits the output into lines without secrets, however it is chunked", () => {
    const { lines, log } = setup()
    for (const chunk of ["hello hun", "ter2hunter2\r\n\nsecond ", "line\nunfinished"]) log.stderr(Buffer.from(chunk))
    log.stray("a banner")
    log.flush()
    assert.deepStrictEqual(lines, [
      "stderr hello [redacted]",
      "stderr second line",
      "stdout a banner",
      "stderr unfinished"
    ])
    assert.strictEqual(log.tail(), "hello [redacted]\nsecond line\nunfinished")
  })

  it("cuts long lines without leaving half a secret", () => {
    const { lines, log } = setup()
    log.stderr(Buffer.from(`${"x".repeat(8 * 1024 - 4)}hunter2hunter2\n`))
    log.flush()
    assert.notInclude(lines.join(), "hunt")
    log.stderr(Buffer.from(`${"hunter2hunter2".repeat(5000)}\n`))
    log.flush()
    assert.notInclude(lines.join(), "hunt")
    log.stderr(Buffer.alloc(1_000_000, "y"))
    log.stderr(Buffer.alloc(1_000_000, "y"))
    log.flush()
    assert.isBelow(lines[2]!.length, 9000)
  })

  it("keeps the newest lines and reports how many were dropped", () => {
    const { lines, log } = setup()
    for (let line = 0; line < 10_000; line += 1) log.stderr(Buffer.from(`line number ${line} of a flood\n`))
    log.flush()
    assert.match(lines[0]!, /^stderr … \d+ lines left out/)
    assert.strictEqual(lines.at(-1), "stderr line number 9999 of a flood")
    assert.isBelow(log.tail().length, 17_000)
  })
})
