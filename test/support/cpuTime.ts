/** Measures CPU time, to which other processes of a busy machine add nothing. */

/** CPU milliseconds of this process, with all its threads, while a function runs. */
export const cpuMillis = (run: () => unknown): number => {
  const before = process.cpuUsage()
  run()
  const { system, user } = process.cpuUsage(before)
  return (user + system) / 1000
}
