/**
 * What a request says in its headers.
 */
import type { Message } from "../wire/Wire.js"

/** Where a request of the modern era names its revision. */
const revisionKey = "io.modelcontextprotocol/protocolVersion"

/** The parameter that a request of the modern era also names in a header, by method. */
const named: Readonly<Record<string, "name" | "uri" | undefined>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri"
}

/** A request of the modern era says in its headers what intermediaries may want to know. Others say nothing. */
export const modernHeaders = ({ id, method, params }: Message): Readonly<Record<string, string>> | undefined => {
  if (method === undefined || id === undefined || typeof params !== "object" || params === null) return undefined
  const fields = params as Readonly<Record<string, unknown>>
  const revision = (fields._meta as Readonly<Record<string, unknown>> | undefined)?.[revisionKey]
  if (typeof revision !== "string") return undefined
  const field = Object.hasOwn(named, method) ? named[method] : undefined
  const name = field === undefined ? undefined : fields[field]
  return {
    "mcp-protocol-version": revision,
    "mcp-method": method,
    ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {})
  }
}

/** A value as it may stand in a header: what is not plain printable text is sent as base64 and says so. */
const headerValue = (value: string): string =>
  /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/s.test(value)
    ? value
    : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`

/** Header names do not mind their case; here they all have the same. */
export const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
