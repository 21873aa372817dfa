/**
 * What an OpenAPI document says beyond what is derived.
 */

type Json = Record<string, unknown>

/**
 * Every route takes the token, errors come in one shape (the one that is built in is never sent), and schemas have names that
 * may stand in such a document.
 */
export const finished = (document: Json): Json => {
  const { components, ...rest } = cleaned(document) as Json & { readonly components: Json }
  return {
    ...rest,
    components: { ...components, securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }]
  }
}

const builtIn = "HttpApiDecodeError"

const isBuiltIn = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "$ref" in value && value.$ref === `#/components/schemas/${builtIn}`

const cleaned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => !isBuiltIn(item)).map(cleaned)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => key !== builtIn && !(key === "$id" && isMark(item)))
      .map(([key, item]) => [
        key.replace(ours, ""),
        key === "$ref" && typeof item === "string" ? item.replace(ours, "") : cleaned(item)
      ])
  )
}

/** Names of ours begin with that of the package. */
const ours = /mcp-supervisor(?:\/|~1)/

/** A name for "anything" and the like that stands in several places, where a name may stand in one only. */
const isMark = (id: unknown): boolean => typeof id === "string" && id.startsWith("/schemas/")
