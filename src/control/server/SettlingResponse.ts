/**
 * Implements a response that always settles, even if the client disconnects.
 *
 * Node emits `close` on a response only while its client is connected. For a response whose client disconnected, and for
 * responses queued behind it on the same connection, it emits nothing, and code that waits for the event waits forever.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** The responses in progress of each connection. */
const inProgress = new WeakMap<Socket, Set<SettlingResponse>>()

/** Whether the client would read bytes written to the socket now as part of the response to a request it has sent. */
export const isAnswering = (socket: Socket): boolean =>
  [...(inProgress.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete)

export class SettlingResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  #isSettled = false

  constructor(request: Request) {
    super(request)
    const { socket } = request
    // one turn later, because Node may still emit `close` itself
    const onDisconnect = () => setImmediate(() => this.#isSettled || this.emit("close"))
    const responses = inProgress.get(socket) ?? new Set()
    inProgress.set(socket, responses.add(this))
    this.once("close", () => {
      this.#isSettled = true
      responses.delete(this)
      socket.off("close", onDisconnect)
    })
    // a client may pipeline any number of requests on one connection
    socket.setMaxListeners(0).once("close", onDisconnect)
  }

  override end(...given: ReadonlyArray<unknown>): this {
    const callback = given.find((each): each is () => void => typeof each === "function")
    const [chunk, encoding] = given.filter((each) => typeof each !== "function")
    if (callback !== undefined) this.#onceSettled(callback)
    return super.end(chunk, encoding as BufferEncoding)
  }

  #onceSettled(callback: () => void): void {
    if (this.#isSettled) return void setImmediate(callback)
    const settle = () => {
      this.off("finish", settle).off("close", settle)
      callback()
    }
    this.once("finish", settle).once("close", settle)
  }
}
