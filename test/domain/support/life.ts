/** Runs `Lifecycle.step` event by event on the state of one server. */
import { type Failure, Lifecycle, RestartPolicy } from "../../../src/index.js"

export const info: Lifecycle.LinkInfo = {
  transport: "stdio",
  protocolVersion: "2025-11-25",
  era: "legacy",
  tools: 2,
  resources: 0,
  prompts: 0,
  push: "open"
}

export const settings: Lifecycle.Settings = {
  server: "files",
  restart: { ...RestartPolicy.defaultPolicy, maxRestarts: 2 },
  lazy: false,
  replace: "overlap",
  drain: 30_000
}

export const broken: Failure.Failure = { kind: "transient", error: "it broke", errorTag: "ConnectionClosed" }

export type Happening = Lifecycle.Event extends infer E
  ? E extends Lifecycle.Event
    ? Omit<E, "at" | "random">
    : never
  : never

/** A server in the lifecycle, driven event by event. */
export const life = (initial: Partial<Lifecycle.Settings> = {}) => {
  const start = Lifecycle.start({ ...settings, ...initial }, 0)
  let { state } = start
  let at = 0
  let random = 0.5
  let actions = start.actions
  const self = {
    after: (ms: number) => {
      at += ms
      return self
    },
    luck: (value: number) => {
      random = value
      return self
    },
    happens: (event: Happening) => {
      const step = Lifecycle.step(state, { ...event, at, random } as Lifecycle.Event)
      state = step.state
      actions = step.actions
      return self
    },
    command: (_tag: "Enable" | "Disable" | "Connect" | "Restart" | "Remove" | "Demanded") => self.happens({ _tag }),
    opens: (generation = state.generation) => self.happens({ _tag: "Opened", generation, info }),
    isLost: (failure: Failure.Failure = broken, generation = state.generation) =>
      self.happens({ _tag: "Lost", generation, failure }),
    isReleased: (generation = state.generation) => self.happens({ _tag: "Released", generation }),
    /** Sends `Lost`, then `Released`. */
    crashes: (failure?: Failure.Failure) => self.isLost(failure).isReleased(),
    timerFires: () => {
      const [timer] = Lifecycle.timers(state)
      at = Math.max(at, timer?.at ?? at)
      return self.happens({ _tag: "TimerFired", timer: timer?.id ?? -1 })
    },
    changes: (change: "settings" | "link" | "identity", to: Partial<Lifecycle.Settings> = {}) =>
      self.happens({ _tag: "ConfigChanged", change, settings: { ...state.settings, ...to } }),
    get state() {
      return state
    },
    get at() {
      return at
    },
    get status() {
      return Lifecycle.status(state)
    },
    get did() {
      return actions.map((action) =>
        "generation" in action ? `${action._tag} ${action.generation}` : "timer" in action ? action._tag : action._tag
      )
    }
  }
  return self
}
