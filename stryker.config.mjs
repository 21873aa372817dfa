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
  // added to five times the time that the tests take without a mutant. Shorter than the 60 s that a mutant without end took
  // before; on a machine that stands still for longer, a mutant counts as noticed although no test failed.
  timeoutMS: 15_000,
  timeoutFactor: 5,
  reporters: ["clear-text", "json", "progress-append-only"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, skipFull: true },
  jsonReporter: { fileName: `reports/mutation-${process.env.MUTATE ?? "domain"}.json` },
  tempDirName: "reports/stryker"
}
