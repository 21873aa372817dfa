/** A proxy on loopback that resolves every name to one server on loopback, which then seems to be on the internet. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface Proxy {
  readonly url: string
  /** The requested hosts and ports. */
  readonly asked: Array<string>
}

export const proxyTo = (url: string): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Proxy & { readonly close: () => void }>((resume) => {
        const asked: Array<string> = []
        const open = new Set<Socket>()
        const server = createServer((client) => {
          open.add(client)
          client.on("error", () => {})
          client.once("data", (head) => {
            asked.push(head.toString().split(" ", 2)[1] ?? "")
            const target = connect(Number(new URL(url).port), "127.0.0.1", () => {
              client.write("HTTP/1.1 200 OK\r\n\r\n")
              client.pipe(target).pipe(client)
            })
            open.add(target)
            target.on("error", () => client.destroy())
            client.on("close", () => target.destroy())
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const close = () => {
            server.close()
            for (const socket of open) socket.destroy()
          }
          const { port } = server.address() as AddressInfo
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close }))
        })
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ asked, url }) => ({ asked, url })
  )
