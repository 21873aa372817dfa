/**
 * Servers as they change: a table that stays in its place on a terminal, a line for each change elsewhere.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { ServerSnapshot } from "../domain/ServerSnapshot.js"
import { equals, type ServerStatus } from "../domain/ServerStatus.js"
import { Screen } from "./Screen.js"
import { serverTable, statusesOf, statusLine } from "./show/servers.js"
import { type Cell, cut } from "./table.js"

type Snapshots = ReadonlyArray<ServerSnapshot>

export interface Options {
  /** Only this one. */
  readonly name?: string | undefined
  readonly json: boolean
  /** Stands above the table. */
  readonly header?: ReadonlyArray<Cell> | undefined
  /** Where lines go that are no data of the command. Defaults to false. */
  readonly asNotes?: boolean | undefined
}

export const watch = <E, R>(
  changes: Stream.Stream<Snapshots, E, R>,
  options: Options
): Effect.Effect<void, E, R | Screen> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const chosen = Stream.map(changes, (all) =>
      options.name === undefined ? all : all.filter(({ name }) => name === options.name)
    )
    if (options.json) return yield* Stream.runForEach(chosen, (all) => screen.json(statusesOf(all)))
    return yield* screen.width() === undefined ? lines(chosen, options) : live(chosen, options)
  })

/** Redrawn at each change, and each second for what is counted. */
const live = <E, R>(changes: Stream.Stream<Snapshots, E, R>, { header = [] }: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    let latest: Snapshots = []
    const draw = Effect.gen(function* () {
      const width = screen.width() ?? 80
      const now = yield* Clock.currentTimeMillis
      const table = serverTable(latest, { style: screen.style, width, now })
      const room = Math.max(screen.rows() - header.length - 2, 3)
      const hidden = table.length - room
      const shown = hidden > 0 ? [...table.slice(0, room - 1), `… and ${hidden + 1} more`] : table
      yield* screen.redraw([...header.map(({ paint, text }) => (paint ?? String)(cut(text, width))), ...shown])
    })
    yield* Stream.merge(
      Stream.map(changes, (all) => {
        latest = all
      }),
      Stream.fromSchedule(Schedule.spaced(Duration.seconds(1))),
      { haltStrategy: "left" }
    ).pipe(
      // a burst of changes is one picture
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.runForEach(() => draw),
      Effect.ensuring(screen.settle)
    )
  })

const lines = <E, R>(changes: Stream.Stream<Snapshots, E, R>, { asNotes = false }: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const write = asNotes ? screen.note : screen.out
    let before: ReadonlyMap<string, ServerSnapshot> = new Map()
    yield* Stream.runForEach(changes, (all) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        for (const snapshot of all) {
          const last = before.get(snapshot.name)
          if (last === undefined || isNews(last.status, snapshot.status)) yield* write(statusLine(snapshot, now))
        }
        for (const name of before.keys()) {
          if (!all.some((snapshot) => snapshot.name === name)) yield* write(`${name}: removed`)
        }
        before = new Map(all.map((snapshot) => [snapshot.name, snapshot]))
      })
    )
  })

/** How far an attempt has come is worth no line of its own. */
const isNews = (before: ServerStatus, now: ServerStatus): boolean =>
  before.status !== now.status || (now.status !== "connecting" && !equals(before, now))
