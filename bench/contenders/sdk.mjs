// The contender with the SDK's client alone, used as in its README.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"

const transportTo = (target) =>
  target.url === undefined ? new StdioClientTransport(target) : new StreamableHTTPClientTransport(new URL(target.url))

const connect = async (target) => {
  const client = new Client({ name: "bench", version: "1.0.0" })
  await client.connect(transportTo(target))
  return client
}

export const make = async () => ({
  load: async () => {},

  open: async (target) => {
    const client = await connect(target)

    const caller = async (until, args, told) => {
      for (let now = performance.now(); now < until; ) {
        const { content } = await client.callTool({ name: "echo", arguments: args })
        const then = now
        now = performance.now()
        told(now - then, content)
      }
    }

    return {
      call: (args) => client.callTool({ name: "echo", arguments: args }),
      callers: (count, until, args, told) =>
        Promise.all(Array.from({ length: count }, () => caller(until, args, told))),
      close: () => client.close()
    }
  },

  /** Connects to all at once and keeps their listings. */
  start: async (targets) => {
    const from = performance.now()
    const connecting = Promise.all(Object.values(targets).map(connect))
    // the error is reported by `ready`
    connecting.catch(() => {})
    let lists = []
    return {
      from,
      ready: async () => {
        await connecting
      },
      list: async () => {
        lists = await Promise.all((await connecting).map((client) => client.listTools()))
        return lists.reduce((sum, { tools }) => sum + tools.length, 0)
      },
      close: async () => {
        await Promise.all((await connecting).map((client) => client.close()))
      }
    }
  },

  end: async () => {}
})
