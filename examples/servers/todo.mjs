// A server with state: a todo list that lives as long as the process.
import { McpServer } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { z } from "zod"

const textResult = (text) => ({ content: [{ type: "text", text }] })

const errorResult = (text) => ({ ...textResult(text), isError: true })

const describeTodo = ({ id, text, done }) => `[${done ? "x" : " "}] ${id}: ${text}`

const createServer = () => {
  const server = new McpServer({ name: "todo", version: "1.0.0" })
  const todos = new Map()

  // a counter and not the time of day: two adds in the same millisecond must not share an id
  let lastId = 0

  server.registerTool(
    "add_todo",
    {
      title: "Add a todo",
      description: "Adds a todo to the end of the list",
      inputSchema: z.object({ text: z.string().min(1).describe("What is to be done") }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }
    },
    ({ text }) => {
      lastId += 1
      const id = String(lastId)
      todos.set(id, { id, text, done: false })
      return textResult(`Added: ${text} (id: ${id})`)
    }
  )

  server.registerTool(
    "list_todos",
    {
      title: "List todos",
      description: "Lists all todos, oldest first",
      annotations: { readOnlyHint: true, openWorldHint: false }
    },
    () => textResult([...todos.values()].map(describeTodo).join("\n") || "No todos yet")
  )

  server.registerTool(
    "complete_todo",
    {
      title: "Complete a todo",
      description: "Marks a todo as done",
      inputSchema: z.object({ id: z.string().describe("The id that add_todo answered") }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    },
    ({ id }) => {
      const todo = todos.get(id)
      if (todo === undefined) {
        return errorResult(`Todo not found: ${id}`)
      }
      todo.done = true
      return textResult(`Completed: ${todo.text}`)
    }
  )

  return server
}

// stdout belongs to the protocol, so problems go to stderr
serveStdio(createServer, { onerror: console.error })
