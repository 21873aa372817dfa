/**
 * Converts messages of a server into notifications and log lines, in both eras.
 */
import * as Schema from "effect/Schema"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { scrubDeep } from "../../domain/internal/scrubDeep.js"
import type { Notification } from "../Session.js"
import { type Scrubbers, shown } from "./shown.js"
import type { Message } from "../wire/Wire.js"

const changedLists: Readonly<Record<string, Protocol.ListKind | undefined>> = {
  "notifications/tools/list_changed": "tools",
  "notifications/resources/list_changed": "resources",
  "notifications/prompts/list_changed": "prompts"
}

/** The notification in a message; undefined for messages that are not passed on. */
export const notificationOf = ({ method, params }: Message): Notification | undefined => {
  if (method === undefined) return undefined
  const list = Object.hasOwn(changedLists, method) ? changedLists[method] : undefined
  if (list !== undefined) return { _tag: "ListChanged", list }
  const { elicitationId, uri } = fields(params)
  if (method === "notifications/resources/updated" && typeof uri === "string") {
    return uri.length > maxName ? tooLong(method) : { _tag: "ResourceUpdated", uri }
  }
  if (method === "notifications/elicitation/complete" && typeof elicitationId === "string") {
    return elicitationId.length > maxName ? tooLong(method) : { _tag: "ElicitationCompleted", elicitationId }
  }
  return undefined
}

/** The maximum number of characters of a URI or id in a notification. It waits for readers and is stored with the events. */
const maxName = 8 * 1024

const tooLong = (method: string): Notification => ({
  _tag: "Dropped",
  method,
  reason: `what it is about has more than ${maxName} characters`
})

/** The key of a notification. A newer notification replaces a waiting one with the same key. */
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

/** The log line in a message; undefined for other messages. */
export const logLineOf = (
  { method, params }: Message,
  scrubbers: Scrubbers,
  at: number
): Protocol.LogLine | undefined => {
  if (method !== "notifications/message") return undefined
  const { data, level, logger } = fields(params)
  return {
    at,
    source: "server",
    level: isLevel(level) ? level : "info",
    ...(typeof logger === "string" ? { logger: shown(scrubbers, logger, maxLogger) } : {}),
    text: shown(scrubbers, typeof data === "string" ? data : textOf(data), maxText)
  }
}

/**
 * The beginning of the data as JSON. Each text is cut at more than what is later scrubbed, so that no secret is cut in half
 * unnoticed.
 */
const textOf = (data: unknown): string =>
  JSON.stringify(scrubDeep(data, (text) => text.slice(0, 2 * maxText + 1), { left: 4 * maxText })) ?? ""

/** The maximum number of characters of a log line, which is meant for people. */
const maxText = 8 * 1024
const maxLogger = 256

const isLevel = Schema.is(Protocol.LogLevel)

const fields = (params: unknown): Readonly<Record<string, unknown>> =>
  typeof params === "object" && params !== null ? (params as Readonly<Record<string, unknown>>) : {}
