import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The test files that take longest, the longest first. */
const long = [
  "simulation",
  "canary",
  "campaigns",
  "conformanceSupervisor",
  "hostileLibrary",
  "hostileDaemon",
  "floods",
  "leaks",
  "sessionContract",
  "exampleServers",
  "auth/store",
  "sessionLimits",
  "childLedger",
  "stdioFaults",
  "cli/"
]

/** Runs the longest files first, so that none of them runs alone at the end. */
class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = long.findIndex((name) => moduleId.includes(`/${name}`))
      return index === -1 ? long.length : index
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

/** The longest time for one test. It ends tests that hang, and must be enough on a machine that is busy with other work. */
const patience = 180_000

const domain = ["test/domain/**/*.test.ts", "test/laws/*.test.ts"]

export default defineConfig({
  test: {
    // much of what is tested waits for processes and sockets: even two cores have room for two files at once
    maxWorkers: Math.max(2, availableParallelism() - 1),
    minWorkers: 1,
    sequence: { sequencer: LongFirst },
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
        // the pure core and its laws: these decide about its coverage
        test: {
          name: "domain",
          include: domain,
          setupFiles: ["test/laws/setup.ts"],
          testTimeout: patience * Number(process.env.LAWS ?? 1)
        }
      },
      {
        // virtual time: no process, no socket, no waiting
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: ["test/live/**", ...domain],
          setupFiles: ["test/laws/setup.ts"],
          // laws take as long as they are told to: see test/laws/runs.ts
          testTimeout: patience * Number(process.env.LAWS ?? 1)
        }
      },
      {
        // real processes and sockets on loopback
        test: {
          name: "live",
          include: ["test/live/**/*.test.ts"],
          exclude: ["test/live/alone/**"],
          testTimeout: patience,
          hookTimeout: patience
        }
      },
      {
        // what measures time or replaces a module: after everything else, each in a process of its own
        test: {
          name: "alone",
          include: ["test/live/alone/**/*.test.ts"],
          testTimeout: patience,
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
