/**
 * What a server says unasked, in either era.
 */
import * as Schema from "effect/Schema"
import * as Protocol from "../domain/Protocol.js"
import { detached } from "./detached.js"
import type { Notification } from "./Session.js"
import type { Message } from "./Wire.js"

const changedLists: Readonly<Record<string, Protocol.ListKind | undefined>> = {
  "notifications/tools/list_changed": "tools",
  "notifications/resources/list_changed": "resources",
  "notifications/prompts/list_changed": "prompts"
}

/** The notification in a message, if it is one that we pass on. */
export const notificationOf = ({ method, params }: Message): Notification | undefined => {
  if (method === undefined) return undefined
  const list = Object.hasOwn(changedLists, method) ? changedLists[method] : undefined
  if (list !== undefined) return { _tag: "ListChanged", list }
  const { elicitationId, uri } = fields(params)
  if (method === "notifications/resources/updated" && typeof uri === "string") return { _tag: "ResourceUpdated", uri }
  if (method === "notifications/elicitation/complete" && typeof elicitationId === "string") {
    return { _tag: "ElicitationCompleted", elicitationId }
  }
  return undefined
}

/** Notifications with the same key are about the same: the newest holds. */
export const notificationKey = (notification: Notification): string => {
  switch (notification._tag) {
    case "ListChanged":
      return `list ${notification.list}`
    case "ResourceUpdated":
      return `resource ${notification.uri}`
    case "ElicitationCompleted":
      return `elicitation ${notification.elicitationId}`
    case "Dropped":
      return `dropped ${notification.method}`
    case "PushChanged":
      return "push"
  }
}

/** How secrets are hidden, in a text and in one that goes on where it is not seen. */
export interface Scrubbers {
  readonly scrub: (text: string) => string
  readonly scrubBeginning: (text: string) => string
}

/** The log line in a message, if it is one. */
export const logLineOf = (
  { method, params }: Message,
  { scrub, scrubBeginning }: Scrubbers,
  at: number
): Protocol.LogLine | undefined => {
  if (method !== "notifications/message") return undefined
  const { data, level, logger } = fields(params)
  /** Of a long text no more is scrubbed than is shown, and a little besides: the last cut could leave half a secret. */
  const shown = (text: string, length: number) =>
    text.length <= 2 * length
      ? scrub(text).slice(0, length)
      : detached(scrubBeginning(text.slice(0, 2 * length)).slice(0, length))
  return {
    at,
    source: "server",
    level: isLevel(level) ? level : "info",
    ...(typeof logger === "string" ? { logger: shown(logger, maxLogger) } : {}),
    text: shown(typeof data === "string" ? data : textOf(data), maxText)
  }
}

const textOf = (data: unknown): string => {
  try {
    return JSON.stringify(data) ?? ""
  } catch {
    return "(nested too deep to be shown)"
  }
}

/** A log is for people. */
const maxText = 8 * 1024
const maxLogger = 256

const isLevel = Schema.is(Protocol.LogLevel)

const fields = (params: unknown): Readonly<Record<string, unknown>> =>
  typeof params === "object" && params !== null ? (params as Readonly<Record<string, unknown>>) : {}
