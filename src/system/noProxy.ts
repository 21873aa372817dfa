/**
 * Which hosts are not behind a proxy.
 */

/** What is on this machine never is. */
const loopback = ["localhost", "127.0.0.1", "[::1]"]

/** A variable that programs spell in small letters or in capitals. */
export const proxyVariable = (name: string): string => process.env[name.toLowerCase()] || process.env[name] || ""

export const noProxy = (): string => [proxyVariable("NO_PROXY"), ...loopback].join(",")
