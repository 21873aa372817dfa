/** Measures the memory that this process uses. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** The bytes in use after garbage collection. */
export const heldBytes = (): number => {
  collect()
  // buffers are freed in the background, at the latest before the next collection
  collect()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers + external
}

export const megabyte = 1024 * 1024
