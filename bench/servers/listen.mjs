import { createServer } from "node:http"

/**
 * Listens on ports of the loopback device, tells the parent which, and ends with it. A handler is made for each port: what
 * listens there is a server of its own.
 */
export const listen = async (makeHandler, { count = 1, port = 0 } = {}) => {
  const urls = await Promise.all(Array.from({ length: count }, () => listenOn(makeHandler(), port)))
  process.on("disconnect", () => process.exit())
  process.send({ url: urls[0], urls })
}

const listenOn = (handler, port) =>
  new Promise((resolve, reject) => {
    const server = createServer(handler)
    // a contender that waits for its turn shall not have to connect anew
    server.keepAliveTimeout = 600_000
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}/mcp`))
  })
