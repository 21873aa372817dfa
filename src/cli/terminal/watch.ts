/**
 * Shows servers while they change: on a terminal as a table that is redrawn in place, elsewhere as one line per change.
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
  /** Shows only this server. */
  readonly name?: string | undefined
  readonly json: boolean
  /** Lines above the table. */
  readonly header?: ReadonlyArray<Cell> | undefined
  /** Writes the lines to stderr, because they are not the data of the command. Defaults to false. */
  readonly asNotes?: boolean | undefined
  /** Events to show below the table. Defaults to none. */
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

/** The number of events shown below the table. */
const shownNews = 3

/** Redraws the table at each change, and each second because it contains durations. */
const live = <E, R>(changes: Stream.Stream<Snapshots, E, R>, { header = [], news = Stream.empty }: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    let latest: Snapshots = []
    let newsLines: ReadonlyArray<string> = []
    const draw = Effect.gen(function* () {
      const width = screen.width() ?? 80
      const now = yield* Clock.currentTimeMillis
      const table = serverTable(latest, { style: screen.style, width, now })
      const below = newsLines.length === 0 ? [] : ["", ...newsLines.map((line) => screen.style.bad(cut(line, width)))]
      const room = Math.max(screen.rows() - header.length - below.length - 2, 3)
      const hidden = table.length - room
      const shown = hidden > 0 ? [...table.slice(0, room - 1), `… and ${hidden + 1} more`] : table
      const above = header.map(({ paint, text }) => (paint ?? String)(cut(text, width)))
      yield* screen.redraw([...above, ...shown, ...below])
    })
    const updates = Stream.map(changes, (all) => {
      latest = all
    })
    const events = Stream.map(news, (event) => {
      newsLines = [...newsLines, eventLine(event, plain)].slice(-shownNews)
    })
    const ticks = Stream.fromSchedule(Schedule.spaced(Duration.seconds(1)))
    yield* Stream.merge(updates, Stream.merge(events, ticks), { haltStrategy: "left" }).pipe(
      // A burst of changes is drawn once.
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.runForEach(() => draw),
      Effect.ensuring(screen.settle)
    )
  })

const lines = <E, R>(changes: Stream.Stream<Snapshots, E, R>, { asNotes = false, news = Stream.empty }: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const write = asNotes ? screen.note : screen.out
    // Notes may be kept as a log, which needs one line for a failing server and not one for each attempt.
    const isReported = asNotes ? isNewOutcome : isNewStatus
    let before: ReadonlyMap<string, ServerSnapshot> = new Map()
    const statusLines = Stream.mapEffect(changes, (all) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const next = new Map<string, ServerSnapshot>()
        for (const snapshot of all) {
          const last = before.get(snapshot.name)
          const isWritten = last === undefined || isReported(last.status, snapshot.status)
          if (isWritten) yield* write(statusLine(snapshot, now))
          next.set(snapshot.name, isWritten || !asNotes ? snapshot : last)
        }
        for (const name of before.keys()) {
          if (!next.has(name)) yield* write(`${name}: removed`)
        }
        before = next
      })
    )
    const events = Stream.mapEffect(news, (event) => screen.note(eventLine(event, screen.noteStyle)))
    yield* Stream.runDrain(Stream.merge(statusLines, events, { haltStrategy: "left" }))
  })

/** Whether a status differs from the one before, apart from the phase of an attempt. */
const isNewStatus = (before: ServerStatus, now: ServerStatus): boolean =>
  before.status !== now.status || (now.status !== "connecting" && !equals(before, now))

/** Whether a status differs from the reported one, apart from further attempts that fail with the same kind of error. */
export const isNewOutcome = (reported: ServerStatus, now: ServerStatus): boolean => {
  if (reported.status !== "failed") return isNewStatus(reported, now)
  if (now.status !== "failed") return now.status !== "connecting"
  return reported.errorTag !== now.errorTag || reported.gaveUp !== now.gaveUp
}
