// What every contract server built on an SDK offers. How a tool reaches its caller differs, and is handed in.
import { setTimeout as wait } from "node:timers/promises"
import { z } from "zod"

/** One line of stderr for each thing a test may want to know. */
export const journal = (entry) => process.stderr.write(`@journal ${JSON.stringify(entry)}\n`)

export const note = "note://1"

export const text = (words) => ({ content: [{ type: "text", text: words }] })

const untilAborted = (signal) =>
  new Promise((resolve) => {
    // a server waits for as long as it takes: this keeps its process from ending meanwhile
    const awake = setInterval(() => {}, 1000)
    signal.addEventListener(
      "abort",
      () => {
        clearInterval(awake)
        resolve()
      },
      { once: true }
    )
  })

export const question = {
  mode: "form",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
}

export const sampling = { messages: [{ role: "user", content: { type: "text", text: "2 + 2?" } }], maxTokens: 10 }

export const tools = {
  echo: { input: { text: z.string() }, run: (args) => text(args.text) },
  fail: { input: {}, run: () => ({ ...text("it did not work"), isError: true }) },
  steps: {
    input: { count: z.number(), interval: z.number().default(0) },
    run: async ({ count, interval }, caller) => {
      // reports and answer are written as one, so that they are also read as one
      if (interval === 0) {
        process.stdout.cork()
        setTimeout(() => process.stdout.uncork(), 20)
      }
      for (let progress = 1; progress <= count; progress += 1) {
        await caller.progress({ progress, total: count, message: `step ${progress}` })
        if (interval > 0) await wait(interval, undefined, { signal: caller.signal })
      }
      return text(`${count} steps`)
    }
  },
  wait: {
    input: {},
    run: async (_, { signal }) => {
      journal({ event: "waiting" })
      await untilAborted(signal)
      journal({ event: "aborted" })
      return text("nobody reads this")
    }
  },
  log: {
    input: { level: z.string(), text: z.string() },
    run: async (args, caller) => {
      await caller.log(args.level, args.text)
      return text("logged")
    }
  },
  change_tools: {
    input: {},
    run: async (_, caller) => {
      await caller.toolsChanged()
      return text("changed")
    }
  },
  touch_note: {
    input: {},
    run: async (_, caller) => {
      await caller.updated(note)
      return text("touched")
    }
  },
  elicit: { input: { message: z.string() }, run: (args, caller) => caller.elicit(args.message) },
  sample: { input: {}, run: (_, caller) => caller.sample() },
  roots: { input: {}, run: (_, caller) => caller.roots() },
  ping: {
    input: {},
    run: async (_, caller) => {
      await caller.ping()
      return text("the client is there")
    }
  }
}

/** Two pages, of which the second has the name that looks most like none. */
export const page = (cursor) => {
  const all = Object.entries(tools).map(([name, { input }]) => ({
    name,
    inputSchema: z.toJSONSchema(z.object(input))
  }))
  return cursor === undefined ? { tools: all.slice(0, 4), nextCursor: "" } : { tools: all.slice(4) }
}

export const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {}
}
