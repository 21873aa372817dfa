import { defineConfig } from "vitest/config"

/** The tests that decide about the mutants of each group of `scripts/mutate.mjs`: pure code and virtual time only. */
const tests: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: ["test/domain/**/*.test.ts", "test/laws/*.test.ts"],
  supervision: ["test/supervision/**/*.test.ts", "test/laws/supervisorModel.test.ts"]
}

const group = process.env.MUTATE ?? "domain"

export default defineConfig({
  test: {
    include: [...tests[group]!],
    exclude: group === "domain" ? ["test/laws/supervisorModel.test.ts"] : [],
    setupFiles: ["test/laws/setup.ts"],
    testTimeout: 60_000
  }
})
