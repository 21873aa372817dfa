/**
 * Parses the options of the command line and computes the amount of work.
 */
import { resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { parseArgs } from "node:util"

export const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    /** The directory of the build. */
    dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
    /** Only sections and servers whose name contains this text. */
    only: { type: "string", default: "" },
    /** Writes a profile of each contender into this directory. */
    profile: { type: "string" }
  }
})

export const effort = options.quick
  ? {
      calls: { rounds: 3, warmUp: 2000, sequential: 100, inFlight: 200 },
      startUp: { rounds: 3 },
      catalog: { rounds: 2, repeats: 5, reads: 1000 },
      recovery: { rounds: 3 },
      memory: { rounds: 1, connections: 50 },
      config: { rounds: 3 },
      manyServers: { rounds: 1, count: 2000, few: 10, changes: 300 },
      program: { rounds: 7, requests: 100, calls: 1600 }
    }
  : {
      calls: { rounds: 6, warmUp: 4000, sequential: 200, inFlight: 350 },
      startUp: { rounds: 5 },
      catalog: { rounds: 3, repeats: 10, reads: 10_000 },
      recovery: { rounds: 7 },
      memory: { rounds: 2, connections: 100 },
      config: { rounds: 7 },
      manyServers: { rounds: 3, count: 2000, few: 10, changes: 300 },
      program: { rounds: 15, requests: 300, calls: 8000 }
    }

/** The URL of the build, for imports in a contender. */
export const dist = `${pathToFileURL(resolve(options.dist)).href}/`
