/**
 * The wire for stdio. It exchanges messages with a child process, one per line.
 */
import type { Readable } from "node:stream"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { ConnectionClosed, type ConnectionError, ProcessExited } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"
import * as Intake from "../wire/Intake.js"
import * as LineReader from "../wire/LineReader.js"
import * as MessageReader from "../wire/MessageReader.js"
import type { ProcessLog } from "./ProcessLog.js"
import * as StdioProcess from "./StdioProcess.js"
import * as StrayLimit from "../wire/StrayLimit.js"
import {
  type SendCallbacks,
  type Message,
  maxMessageBytes,
  maxMessageValues,
  serialise,
  type Wire,
  type WireEvents,
  WireFailure
} from "../wire/Wire.js"

export interface Options extends StdioProcess.ProcessSpec {
  readonly log: ProcessLog
  readonly events: WireEvents
  /** The current phase of the attempt; undefined once it has succeeded. */
  readonly phase: () => AttemptPhase | undefined
}

/** A message that is not written yet: it waits for the next write, or the process does not read. */
interface WaitingMessage {
  readonly id: Message["id"]
  readonly text: string
  readonly callbacks: SendCallbacks
}

/** The maximum number of characters that wait for a process that does not read. */
const maxWaiting = 2 * maxMessageBytes

/** The number of characters after which a write is issued. It bounds what is handed to a process that does not read. */
const maxWrite = 64 * 1024

/** The number of stderr bytes that are read in one step. */
const maxStderr = 4096

export const open = (options: Options) =>
  Effect.gen(function* () {
    const { events, log, server } = options
    // Registered first and therefore run last: the final output of the process is included.
    yield* Effect.addFinalizer(() => Effect.sync(log.flush))
    const { child, ended, pid } = yield* StdioProcess.spawn(options)
    const intake = Intake.open()
    const strays = StrayLimit.make()
    let endReason: ConnectionError | undefined
    let blocked = false
    let scheduled = false
    let size = 0
    const waiting = new Set<WaitingMessage>()

    const finish = (reason: ConnectionError) => {
      if (endReason !== undefined) return
      endReason = reason
      closeInput()
      log.flush()
      for (const { callbacks } of waiting) callbacks.failed(new WireFailure(reason, "unsent"))
      waiting.clear()
      events.closed(reason)
    }

    const closed = (detail: string) => finish(new ConnectionClosed({ server, detail }))
    const lines = LineReader.make({
      limit: maxMessageBytes,
      overflow: () => closed(`a message of more than ${maxMessageBytes} bytes arrived`)
    })
    const messages = MessageReader.make({
      message: events.message,
      awaits: events.awaits,
      dropped: (envelopes, bytes) => {
        events.dropped(envelopes, bytes)
        if (strays.count(StrayLimit.bytesOfDropped(envelopes, bytes))) closed(StrayLimit.strayDetail)
      },
      tooManyValues: () => closed(`a message of more than ${maxMessageValues} values and keys arrived`),
      stray: (bytes, text) => {
        log.stray(text())
        if (strays.count(bytes)) closed(StrayLimit.strayDetail)
      }
    })
    const stdout = intake.source(flowOf(child.stdout), () => messages.next() || messages.read(lines))
    const take = (chunk: Buffer) => {
      lines.push(chunk)
      stdout.arrived()
    }
    child.stdout.on("data", take)

    const unread: Array<Buffer> = []
    // stderr has its own intake: it is read while stdout is paused, and to its end.
    const stderr = Intake.open().source(flowOf(child.stderr), () => {
      const chunk = unread.shift()
      if (chunk === undefined) return 0
      if (chunk.length > maxStderr) unread.unshift(chunk.subarray(maxStderr))
      log.stderr(chunk.subarray(0, maxStderr))
      return chunk.length
    })
    child.stderr.on("data", (chunk: Buffer) => {
      unread.push(chunk)
      stderr.arrived()
    })

    /** Discards all further output. stdout is still drained, so that the process is not blocked and can shut down. */
    const closeInput = () => {
      intake.close()
      child.stdout.off("data", take)
      child.stdout.resume()
    }
    yield* Effect.addFinalizer(() => Effect.sync(closeInput))

    const forget = (each: WaitingMessage) => {
      waiting.delete(each)
      size -= each.text.length
    }
    const unsent = (detail: string) => new WireFailure(new ConnectionClosed({ server, detail }), "unsent")

    /** Writes all messages of one turn together: each write is a system call. */
    const write = () => {
      scheduled = false
      while (!blocked && waiting.size > 0) {
        const callbacks: Array<SendCallbacks> = []
        let text = ""
        for (const each of waiting) {
          forget(each)
          text += each.text
          callbacks.push(each.callbacks)
          if (text.length > maxWrite) break
        }
        blocked = !child.stdin.write(text)
        for (const { done, sent } of callbacks) {
          sent?.()
          done?.()
        }
      }
    }
    child.stdin.on("drain", () => {
      blocked = false
      write()
    })

    const send: Wire["send"] = (message, callbacks) => {
      if (endReason !== undefined) return callbacks.failed(new WireFailure(endReason, "unsent"))
      const serialised = serialise(server, message)
      if (typeof serialised !== "string") return callbacks.failed(serialised)
      if (size + serialised.length > maxWaiting) return callbacks.failed(unsent("the process does not read its input"))
      const text = `${serialised}\n`
      waiting.add({ id: message.id, text, callbacks })
      size += text.length
      if (scheduled || blocked) return
      scheduled = true
      queueMicrotask(write)
    }

    const retract: Wire["retract"] = (id) => {
      for (const each of waiting) {
        if (each.id !== id) continue
        forget(each)
        each.callbacks.failed(unsent("cancelled before it was sent"))
      }
    }

    const exited = Deferred.await(ended).pipe(
      Effect.map((ending) => {
        stdout.flush()
        stderr.flush()
        log.flush()
        return new ProcessExited({ server, ...defined({ phase: options.phase(), stderr: log.tail(), ...ending }) })
      })
    )
    // A pipe also breaks when the process exits, and the exit is the better reason: it gets some time to arrive.
    const broken = awaitBroken(child).pipe(
      Effect.tap(() => Effect.sleep(exitGrace)),
      Effect.map((pipe) => new ConnectionClosed({ server, detail: `the process closed its ${pipe}` }))
    )
    yield* Effect.raceFirst(exited, broken).pipe(Effect.map(finish), Effect.interruptible, Effect.forkScoped)

    const wire: Wire = {
      transport: "stdio",
      pid,
      send,
      retract,
      agreed: () => {},
      pause: intake.pause,
      resume: intake.resume
    }
    return wire
  })

/** The maximum time between the end of the pipes and the exit of the process. */
const exitGrace = "250 millis"

const flowOf = (stream: Readable): Intake.Flow => ({
  pause: () => void stream.pause(),
  resume: () => void stream.resume()
})

const awaitBroken = (child: StdioProcess.StdioProcess["child"]) =>
  Effect.async<"input" | "output">((resume) => {
    child.stdin.once("error", () => resume(Effect.succeed("input")))
    child.stdout.once("end", () => resume(Effect.succeed("output")))
  })
