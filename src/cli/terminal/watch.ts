/**
 * Servers as they change: a table that stays in its place on a terminal, a line for each change elsewhere.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { ServerEvent } from "../../domain/server/ServerEvent.js"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import { equals, type ServerStatus } from "../../domain/server/ServerStatus.js"
import { Screen } from "./Screen.js"
import { eventLine } from "../show/showEvents.js"
import { serverTable, statusesOf, statusLine } from "../show/showServers.js"
import { plain } from "./style.js"
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
  /** What else to tell, below the table. Defaults to nothing. */
  readonly news?: Stream.Stream<ServerEvent> | undefined
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

/** So many of the news stay in sight. */
const newsInSight = 3

/** Redrawn at each change, and each second for what is counted. */
const live = <E, R>(changes: Stream.Stream<Snapshots, E, R>, { header = [], news = Stream.empty }: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    let latest: Snapshots = []
    let told: ReadonlyArray<string> = []
    const draw = Effect.gen(function* () {
      const width = screen.width() ?? 80
      const now = yield* Clock.currentTimeMillis
      const table = serverTable(latest, { style: screen.style, width, now })
      const below = told.length === 0 ? [] : ["", ...told.map((line) => screen.style.bad(cut(line, width)))]
      const room = Math.max(screen.rows() - header.length - below.length - 2, 3)
      const hidden = table.length - room
      const shown = hidden > 0 ? [...table.slice(0, room - 1), `… and ${hidden + 1} more`] : table
      const above = header.map(({ paint, text }) => (paint ?? String)(cut(text, width)))
      yield* screen.redraw([...above, ...shown, ...below])
    })
    const seen = Stream.map(changes, (all) => {
      latest = all
    })
    const heard = Stream.map(news, (event) => {
      told = [...told, eventLine(event, plain)].slice(-newsInSight)
    })
    const ticks = Stream.fromSchedule(Schedule.spaced(Duration.seconds(1)))
    yield* Stream.merge(seen, Stream.merge(heard, ticks), { haltStrategy: "left" }).pipe(
      // a burst of changes is one picture
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.runForEach(() => draw),
      Effect.ensuring(screen.settle)
    )
  })

const lines = <E, R>(changes: Stream.Stream<Snapshots, E, R>, { asNotes = false, news = Stream.empty }: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const write = asNotes ? screen.note : screen.out
    // what is kept as a log says once that a server is down, not with each attempt
    const isNews = asNotes ? isOtherKind : isOther
    let before: ReadonlyMap<string, ServerSnapshot> = new Map()
    const told = Stream.mapEffect(changes, (all) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const next = new Map<string, ServerSnapshot>()
        for (const snapshot of all) {
          const last = before.get(snapshot.name)
          const isTold = last === undefined || isNews(last.status, snapshot.status)
          if (isTold) yield* write(statusLine(snapshot, now))
          next.set(snapshot.name, isTold || !asNotes ? snapshot : last)
        }
        for (const name of before.keys()) {
          if (!next.has(name)) yield* write(`${name}: removed`)
        }
        before = next
      })
    )
    const heard = Stream.mapEffect(news, (event) => screen.note(eventLine(event, screen.noteStyle)))
    yield* Stream.runDrain(Stream.merge(told, heard, { haltStrategy: "left" }))
  })

/** How far an attempt has come is worth no line of its own. */
const isOther = (before: ServerStatus, now: ServerStatus): boolean =>
  before.status !== now.status || (now.status !== "connecting" && !equals(before, now))

/** Nor is the next attempt of one that is down, nor that it came to the same. */
export const isOtherKind = (told: ServerStatus, now: ServerStatus): boolean => {
  if (told.status !== "failed") return isOther(told, now)
  if (now.status !== "failed") return now.status !== "connecting"
  return told.errorTag !== now.errorTag || told.gaveUp !== now.gaveUp
}
