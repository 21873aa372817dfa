import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { makeServer } from "./sdkTools.mjs"

await makeServer().connect(new StdioServerTransport())
process.stdin.on("end", () => process.exit())
