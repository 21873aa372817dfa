/**
 * An answer that comes to its end, whoever hears it.
 *
 * Node speaks of an answer's end only while somebody listens. Of one whose client is gone, and of those that wait behind it on
 * the same connection, it says nothing any more, and whoever waits for that waits for ever.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** What is being answered on a connection. */
const underWay = new WeakMap<Socket, Set<SettlingResponse>>()

/** Whether what is written there now would be heard as part of an answer to a request that has come in. */
export const isAnswering = (socket: Socket): boolean =>
  [...(underWay.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete)

export class SettlingResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  #isOver = false

  constructor(request: Request) {
    super(request)
    const { socket } = request
    // a turn later, because Node may still say so itself
    const gone = () => setImmediate(() => this.#isOver || this.emit("close"))
    const beside = underWay.get(socket) ?? new Set()
    underWay.set(socket, beside.add(this))
    this.once("close", () => {
      this.#isOver = true
      beside.delete(this)
      socket.off("close", gone)
    })
    // as many may wait on one connection as its client has asked for
    socket.setMaxListeners(0).once("close", gone)
  }

  override end(...given: ReadonlyArray<unknown>): this {
    const told = given.find((each): each is () => void => typeof each === "function")
    const [chunk, encoding] = given.filter((each) => typeof each !== "function")
    if (told !== undefined) this.#onceOver(told)
    return super.end(chunk, encoding as BufferEncoding)
  }

  #onceOver(tell: () => void): void {
    if (this.#isOver) return void setImmediate(tell)
    const over = () => {
      this.off("finish", over).off("close", over)
      tell()
    }
    this.once("finish", over).once("close", over)
  }
}
