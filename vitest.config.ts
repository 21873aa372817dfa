import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    // much of what is tested waits for processes and sockets: even two cores have room for two files at once
    maxWorkers: Math.max(2, availableParallelism() - 1),
    minWorkers: 1,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      experimentalAstAwareRemapping: true,
      reporter: ["text", "json-summary"],
      thresholds: {
        "src/domain/**": { lines: 100, branches: 100, functions: 100, statements: 100 }
      }
    },
    projects: [
      {
        // pure code and virtual time: no process, no socket, no waiting
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: ["test/live/**"],
          setupFiles: ["test/laws/setup.ts"],
          // laws take as long as they are told to: see test/laws/runs.ts
          testTimeout: 60_000 * Number(process.env.LAWS ?? 1)
        }
      },
      {
        // real processes and sockets on loopback
        test: {
          name: "live",
          include: ["test/live/**/*.test.ts"],
          exclude: ["test/live/timed/**"],
          testTimeout: 60_000,
          hookTimeout: 60_000
        }
      },
      {
        // foreign tests that measure time: after everything else, with nothing beside them
        test: {
          name: "timed",
          include: ["test/live/timed/**/*.test.ts"],
          testTimeout: 60_000,
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
