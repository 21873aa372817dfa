/** Settings of mutation testing: see `scripts/mutate.mjs`. */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "vitest.mutate.config.ts", related: false },
  ignorePatterns: ["dist", "bench", "docs", "coverage", "reports"],
  // what runs once when a module loads would need a new process for each mutant
  ignoreStatic: true,
  disableTypeChecks: false,
  dryRunTimeoutMinutes: 30,
  // generous: on a busy machine a slow test must not count as a mutant found
  timeoutMS: 60_000,
  timeoutFactor: 5,
  reporters: ["clear-text", "json"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, skipFull: true },
  jsonReporter: { fileName: `reports/mutation-${process.env.MUTATE ?? "domain"}.json` },
  tempDirName: "reports/stryker"
}
