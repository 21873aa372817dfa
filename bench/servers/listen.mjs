import { createServer } from "node:http"

/** Listens on a free port of the loopback device, tells the parent which, and ends with it. */
export const listen = (handler) => {
  const server = createServer(handler)
  // a contender that waits for its turn shall not have to connect anew
  server.keepAliveTimeout = 600_000
  server.listen(0, "127.0.0.1", () => process.send({ url: `http://127.0.0.1:${server.address().port}/mcp` }))
  process.on("disconnect", () => process.exit())
}
