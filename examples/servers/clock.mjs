// Shows what changes while a server runs: progress, cancellation, and a tool that comes and goes.
import { setTimeout as wait } from "node:timers/promises"
import { McpServer } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { z } from "zod"

const textResult = (text) => ({ content: [{ type: "text", text }] })

const errorResult = (text) => ({ ...textResult(text), isError: true })

/** The ISO 8601 time on the wall of the given zone; throws a RangeError when there is no such zone. */
const isoTimeIn = (timeZone, date) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hourCycle: "h23",
    timeZoneName: "longOffset"
  })
  const part = Object.fromEntries(format.formatToParts(date).map(({ type, value }) => [type, value]))
  const day = `${part.year}-${part.month}-${part.day}`
  const time = `${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}`
  // UTC is "GMT" or "GMT+00:00", which depends on the time zone data Node was built with
  const offset = part.timeZoneName.replace(/^GMT(\+00:00)?/, "") || "Z"
  return `${day}T${time}${offset}`
}

const createServer = () => {
  const server = new McpServer({ name: "clock", version: "1.0.0" })

  server.registerTool(
    "now",
    {
      title: "Current time",
      description: "Tells the current time in ISO 8601, in UTC unless a time zone is given",
      inputSchema: z.object({
        timeZone: z.string().default("UTC").describe("An IANA time zone such as Europe/Paris")
      }),
      annotations: { readOnlyHint: true, openWorldHint: false }
    },
    ({ timeZone }) => {
      try {
        return textResult(isoTimeIn(timeZone, new Date()))
      } catch (error) {
        if (error instanceof RangeError) {
          return errorResult(`Unknown time zone: ${timeZone}`)
        }
        throw error
      }
    }
  )

  server.registerTool(
    "countdown",
    {
      title: "Countdown",
      description: "Counts down step by step, reports progress on the way and answers when done",
      inputSchema: z.object({
        steps: z.int().min(1).max(100).describe("How many steps to count"),
        intervalMs: z.int().min(0).max(1000).default(100).describe("How long each step takes, in milliseconds")
      }),
      annotations: { readOnlyHint: true, openWorldHint: false }
    },
    async ({ steps, intervalMs }, { mcpReq: { _meta: meta, notify, signal } }) => {
      const progressToken = meta?.progressToken
      for (let step = 1; step <= steps; step += 1) {
        // progress is only for callers that asked for it by sending a token
        if (progressToken !== undefined) {
          const params = { progressToken, progress: step, total: steps, message: `${steps - step + 1}…` }
          await notify({ method: "notifications/progress", params })
        }
        // the signal fires when the caller cancels or goes away; without it the countdown would outlive both
        await wait(intervalMs, undefined, { signal })
      }
      return textResult(`Countdown finished after ${steps} ${steps === 1 ? "step" : "steps"}`)
    }
  )

  const alarm = server.registerTool(
    "alarm",
    {
      title: "Alarm",
      description: "Rings an alarm; only offered while set_alarm_tools has it switched on",
      inputSchema: z.object({ label: z.string().describe("What the alarm is for") }),
      annotations: { readOnlyHint: true, openWorldHint: false }
    },
    ({ label }) => textResult(`Alarm: ${label}`)
  )
  alarm.disable()

  server.registerTool(
    "set_alarm_tools",
    {
      title: "Switch the alarm tool",
      description: "Adds the alarm tool to the tool list or takes it out again",
      inputSchema: z.object({ enabled: z.boolean().describe("Whether the alarm tool is offered") }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    },
    ({ enabled }) => {
      // every update tells the client that the list changed, so only update when it does
      if (alarm.enabled !== enabled) {
        alarm.update({ enabled })
      }
      return textResult(`The alarm tool is ${enabled ? "on" : "off"}`)
    }
  )

  return server
}

// stdout belongs to the protocol, so problems go to stderr
serveStdio(createServer, { onerror: console.error })
