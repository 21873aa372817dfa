import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Clocks from "../../src/connection/session/Clocks.js"

/** A clock that the test advances. */
const makeTimer = () => {
  const alarms = new Map<number, { readonly at: number; readonly run: () => void }>()
  let time = 0
  let count = 0
  const timer: Clocks.TimeSource = {
    now: () => time,
    after: (millis, run) => {
      count += 1
      const id = count
      alarms.set(id, { at: time + millis, run })
      return () => void alarms.delete(id)
    }
  }
  const pass = (millis: number) => {
    const until = time + millis
    while (true) {
      const [id, alarm] = [...alarms].sort(([, a], [, b]) => a.at - b.at)[0] ?? []
      if (alarm === undefined || alarm.at > until) break
      alarms.delete(id!)
      time = alarm.at
      alarm.run()
    }
    time = until
  }
  return { timer, pass, now: () => time, alarms: () => alarms.size }
}

describe("Clocks", () => {
  it("reports which of the two timeouts expired", () => {
    const { pass, timer } = makeTimer()
    const clocks = Clocks.make(timer)
    const expired: Array<string> = []
    clocks.start({ idle: 100, total: 1000 }, (which) => expired.push(`a ${which}`))
    const busy = clocks.start({ idle: 100, total: 250 }, (which) => expired.push(`b ${which}`))
    pass(80)
    clocks.touch(busy)
    pass(80)
    clocks.touch(busy)
    assert.deepStrictEqual(expired, ["a idle"])
    pass(90)
    assert.deepStrictEqual(expired, ["a idle", "b total"])
  })

  it("pauses all timeouts while a person is asked, also those that start meanwhile", () => {
    const { pass, timer } = makeTimer()
    const clocks = Clocks.make(timer)
    const expired: Array<string> = []
    clocks.start({ idle: 100, total: 1000 }, () => expired.push("before"))
    pass(50)
    const first = clocks.hold()
    const second = clocks.hold()
    clocks.start({ idle: 100, total: 1000 }, () => expired.push("meanwhile"))
    pass(10_000)
    first()
    first()
    pass(10_000)
    second()
    pass(49)
    assert.deepStrictEqual(expired, [])
    pass(1)
    assert.deepStrictEqual(expired, ["before"])
    pass(50)
    assert.deepStrictEqual(expired, ["before", "meanwhile"])
  })

  it("uses one timer for all timeouts and stops it when none is left", () => {
    const { alarms, pass, timer } = makeTimer()
    const clocks = Clocks.make(timer)
    const running = [300, 100, 200].map((idle) => clocks.start({ idle, total: 1000 }, () => {}))
    assert.strictEqual(alarms(), 1)
    for (const each of running) clocks.stop(each)
    pass(100)
    assert.strictEqual(alarms(), 0)
  })

  it("expires each timeout once, at its time, and never after it was stopped", () => {
    const step = FastCheck.oneof(
      FastCheck.record({ do: FastCheck.constant("start" as const), idle: FastCheck.nat(50), total: FastCheck.nat(80) }),
      FastCheck.record({ do: FastCheck.constantFrom("stop" as const, "touch" as const), which: FastCheck.nat(9) }),
      FastCheck.record({ do: FastCheck.constant("pass" as const), millis: FastCheck.nat(30) })
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { maxLength: 60 }), (steps) => {
        const { now, pass, timer } = makeTimer()
        const clocks = Clocks.make(timer)
        const all: Array<{ running: Clocks.Deadlines; idleAt: number; totalAt: number; idle: number; over: boolean }> =
          []
        for (const each of steps) {
          if (each.do === "start") {
            const at = now()
            const entry = { idleAt: at + each.idle, totalAt: at + each.total, idle: each.idle, over: false }
            const running = clocks.start({ idle: each.idle, total: each.total }, (which) => {
              assert.isFalse(entry.over)
              assert.strictEqual(now(), Math.min(entry.idleAt, entry.totalAt))
              assert.strictEqual(which, entry.totalAt <= now() ? "total" : "idle")
              entry.over = true
            })
            all.push(Object.assign(entry, { running }))
          } else if (each.do === "pass") {
            pass(each.millis)
            for (const { idleAt, over, totalAt } of all) if (!over) assert.isAbove(Math.min(idleAt, totalAt), now())
          } else {
            const entry = all[each.which]
            if (entry === undefined || entry.over) continue
            if (each.do === "touch") entry.idleAt = now() + entry.idle
            else entry.over = true
            clocks[each.do](entry.running)
          }
        }
      })
    )
  })
  it("reads what has arrived before a request times out, however late the timer fires", () => {
    const { pass, timer } = makeTimer()
    let read = () => {}
    const clocks = Clocks.make({ ...timer, afterReading: (run) => (read = run) })
    const expired: Array<string> = []
    const answered = clocks.start({ idle: 100, total: 1000 }, () => expired.push("answered"))
    const alive = clocks.start({ idle: 100, total: 1000 }, () => expired.push("alive"))
    clocks.start({ idle: 100, total: 1000 }, (which) => expired.push(`silent ${which}`))
    pass(100)
    assert.deepStrictEqual(expired, [])
    clocks.stop(answered)
    clocks.touch(alive)
    read()
    assert.deepStrictEqual(expired, ["silent idle"])
    pass(100)
    read()
    assert.deepStrictEqual(expired, ["silent idle", "alive"])
  })
})
