// A server with one of everything the commands can show.
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { z } from "zod"

process.stderr.write("ready to serve\n")

const text = (content) => ({ content: [{ type: "text", text: content }] })

const create = () => {
  const server = new McpServer({ name: "notes", version: "2.0.0" }, { instructions: "Be kind." })
  server.registerTool(
    "echo",
    { description: "Says it again. And more.", inputSchema: z.object({ text: z.string() }) },
    (args) => text(args.text)
  )
  server.registerTool("fail", { inputSchema: z.object({}) }, () => ({ ...text("it went wrong"), isError: true }))
  server.registerTool("slow", { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }) => {
    process.stderr.write("taking my time\n")
    await new Promise((resolve) => setTimeout(resolve, ms))
    return text("done")
  })
  server.registerResource("note", "test://note", {}, () => ({ contents: [{ uri: "test://note", text: "a note" }] }))
  server.registerResource("any", new ResourceTemplate("test://note/{id}", { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: "another note" }]
  }))
  server.registerPrompt("greet", { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }]
  }))
  return server
}

serveStdio(create, { onerror: () => {} })
