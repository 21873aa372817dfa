/**
 * Lists the hosts that are reached without a proxy.
 */

/** Hosts of this machine never need a proxy. */
const loopback = ["localhost", "127.0.0.1", "[::1]"]

/** The value of a proxy variable in lower or upper case; lower case has priority. Empty if it is not set. */
export const proxyVariable = (name: string): string => process.env[name.toLowerCase()] || process.env[name] || ""

/** The hosts of `NO_PROXY` and the loopback hosts, separated by commas. */
export const noProxy = (): string => [proxyVariable("NO_PROXY"), ...loopback].join(",")
