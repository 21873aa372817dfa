/**
 * Recognises errors that mean a shortage on this machine, and gives advice.
 */

/**
 * Advice for the system's error codes that mean a shortage of descriptors, processes or memory on this machine. They say
 * nothing about the server.
 */
const advice: Readonly<Record<string, string>> = {
  EMFILE: "the supervisor has no free file descriptor; raise the limit (ulimit -n) or run fewer servers",
  ENFILE: "the system has no free file descriptor; end some programs or raise the limit (sysctl fs.file-max)",
  EAGAIN: "the system allows no further process; end some or raise the limit (ulimit -u)",
  ENOMEM: "the system has no free memory; end some programs"
}

const unknownShortage =
  "the system has no room for another process; end some or raise the limits (ulimit -n, ulimit -u)"

/** Whether the system's error code means a shortage on this machine. */
export const isShortage = (code: string): boolean => Object.hasOwn(advice, code)

/** Describes the shortage and what to do. */
export const describeShortage = (code: string | undefined): string =>
  code !== undefined && isShortage(code) ? `${advice[code]} (${code})` : unknownShortage
