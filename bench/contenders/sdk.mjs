// The SDK's client by itself, used as its readme shows.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"

const transportTo = (target) =>
  target.url === undefined ? new StdioClientTransport(target) : new StreamableHTTPClientTransport(new URL(target.url))

export const make = async () => ({
  open: async (target) => {
    const client = new Client({ name: "bench", version: "1.0.0" })
    await client.connect(transportTo(target))

    const caller = async (until, args, told) => {
      for (let now = performance.now(); now < until; ) {
        const { content } = await client.callTool({ name: "echo", arguments: args })
        const then = now
        now = performance.now()
        told(now - then, content)
      }
    }

    return {
      callers: (count, until, args, told) =>
        Promise.all(Array.from({ length: count }, () => caller(until, args, told))),
      close: () => client.close()
    }
  },
  end: async () => {}
})
