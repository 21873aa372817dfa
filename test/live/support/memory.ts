/** How much of this process is held by somebody. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** Bytes that are in use, without what waits to be thrown away. */
export const heldBytes = (): number => {
  collect()
  // buffers are given back in the background, at the latest before the next time
  collect()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers + external
}

export const megabyte = 1024 * 1024
