import { assert, describe, it } from "@effect/vitest"
import * as Intake from "../../src/connection/wire/Intake.js"

/** A stream with a number of pieces to read, which records all calls. */
const stream = (intake: Intake.Intake, pieces: number, piece: () => void = () => {}) => {
  const said: Array<string> = []
  let left = pieces
  const source = intake.source({ pause: () => said.push("pause"), resume: () => said.push("resume") }, () => {
    if (left === 0) return 0
    left -= 1
    piece()
    return 4096
  })
  return { source, said, left: () => left }
}

const busyFor = (millis: number) => () => {
  for (const until = performance.now() + millis; performance.now() < until; );
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

const turnsUntil = async (holds: () => boolean): Promise<number> => {
  for (let turns = 0; ; turns += 1) {
    if (holds()) return turns
    await nextTurn()
  }
}

describe("Intake", () => {
  it("reads what fits into its share of a turn without pausing the stream", () => {
    const { left, said, source } = stream(Intake.open(), 10)
    let ended = false
    source.arrived()
    source.ended(() => {
      ended = true
    })
    assert.deepStrictEqual([left(), said, ended], [0, [], true])
  })

  it("pauses a stream that used its share of a turn and continues it in the next turn", async () => {
    const { left, said, source } = stream(Intake.open(), 20, busyFor(1))
    let ended = false
    source.arrived()
    source.ended(() => {
      ended = true
    })
    assert.deepStrictEqual(said, ["pause"])
    assert.isAbove(left(), 10)
    // data that arrives later is reported later
    assert.isAbove(await turnsUntil(() => ended), 2)
    assert.deepStrictEqual([said, left()], [["pause"], 0])
  })

  it("lets other work run between the turns of a server that writes without end", async () => {
    const flood = Intake.open()
    const floods = Array.from({ length: 30 }, () => stream(flood, Number.POSITIVE_INFINITY, busyFor(0.5)))
    const others = Array.from({ length: 10 }, () => stream(Intake.open(), Number.POSITIVE_INFINITY, busyFor(0.5)))
    for (const { source } of [...floods, ...others]) source.arrived()
    const good = stream(Intake.open(), 3)
    good.source.arrived()
    assert.isBelow(await turnsUntil(() => good.left() === 0), 15)
    for (const { source } of [...floods, ...others]) source.close()
  })

  it("reads nothing while it is paused, and the rest after it is resumed", async () => {
    const intake = Intake.open()
    const { left, said, source } = stream(intake, 5, () => {
      if (left() === 3) intake.pause()
    })
    source.arrived()
    await nextTurn()
    assert.deepStrictEqual([left(), said], [3, ["pause"]])
    intake.resume()
    await nextTurn()
    assert.deepStrictEqual([left(), said], [0, ["pause", "resume"]])
  })

  it("reads nothing after it is closed, not even what has arrived", async () => {
    const intake = Intake.open()
    const { left, source } = stream(intake, 100, busyFor(1))
    source.arrived()
    const before = left()
    intake.close()
    source.arrived()
    await nextTurn()
    await nextTurn()
    assert.strictEqual(left(), before)
    assert.isAbove(before, 0)
    const late = stream(intake, 1)
    late.source.arrived()
    assert.strictEqual(late.left(), 1)
  })

  it("reports when everything that has arrived is read", async () => {
    const { left, source } = stream(Intake.open(), 20, busyFor(1))
    source.arrived()
    await new Promise<void>((resolve) => void Intake.afterReading(resolve))
    assert.strictEqual(left(), 0)
  })
})
