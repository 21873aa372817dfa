import { createServer } from "node:http"

/**
 * Listens on loopback ports, reports them to the parent, and exits with it. Each port has its own handler and is a separate
 * server.
 */
export const listen = async (makeHandler, { count = 1, port = 0 } = {}) => {
  const urls = await Promise.all(Array.from({ length: count }, () => listenOn(makeHandler(), port)))
  process.on("disconnect", () => process.exit())
  process.send({ url: urls[0], urls })
}

const listenOn = (handler, port) =>
  new Promise((resolve, reject) => {
    const server = createServer(handler)
    // a contender that waits for its turn must not have to reconnect
    server.keepAliveTimeout = 600_000
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}/mcp`))
  })
