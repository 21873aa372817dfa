/**
 * Codes of the system that mean a shortage on our side: of descriptors, processes or memory. They say nothing about the server
 * that was to be reached.
 */
const advice: Readonly<Record<string, string>> = {
  EMFILE: "the supervisor has no free file descriptor; raise the limit (ulimit -n) or run fewer servers",
  ENFILE: "the system has no free file descriptor; end some programs or raise the limit (sysctl fs.file-max)",
  EAGAIN: "the system allows no further process; end some or raise the limit (ulimit -u)",
  ENOMEM: "the system has no free memory; end some programs"
}

const unknownShortage =
  "the system has no room for another process; end some or raise the limits (ulimit -n, ulimit -u)"

/** Whether a code of the system means a shortage on our side. */
export const isShortage = (code: string): boolean => Object.hasOwn(advice, code)

/** What is short and what helps. */
export const describeShortage = (code: string | undefined): string =>
  code !== undefined && isShortage(code) ? `${advice[code]} (${code})` : unknownShortage
