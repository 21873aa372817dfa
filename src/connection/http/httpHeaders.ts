/**
 * Creates the MCP headers of a request, and normalises header names.
 */
import type { Message } from "../wire/Wire.js"

/** The key in `_meta` under which a request of the modern era holds its revision. */
const revisionKey = "io.modelcontextprotocol/protocolVersion"

/** The parameter that a request of the modern era repeats in a header, by method. */
const namedParameters: Readonly<Record<string, "name" | "uri" | undefined>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri"
}

/** The headers that repeat parts of a request of the modern era for intermediaries. Undefined for all other messages. */
export const modernHeaders = ({ id, method, params }: Message): Readonly<Record<string, string>> | undefined => {
  if (method === undefined || id === undefined || typeof params !== "object" || params === null) return undefined
  const fields = params as Readonly<Record<string, unknown>>
  const revision = (fields._meta as Readonly<Record<string, unknown>> | undefined)?.[revisionKey]
  if (typeof revision !== "string") return undefined
  const field = Object.hasOwn(namedParameters, method) ? namedParameters[method] : undefined
  const name = field === undefined ? undefined : fields[field]
  return {
    "mcp-protocol-version": revision,
    "mcp-method": method,
    ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {})
  }
}

/** Encodes a value for a header: printable ASCII as it is, everything else as marked base64. */
const headerValue = (value: string): string =>
  /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/s.test(value)
    ? value
    : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`

/** Converts header names to lower case, so that the same header from two sources has the same key. */
export const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
