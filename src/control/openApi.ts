/**
 * Completes the OpenAPI document that is derived from the API.
 */

type Json = Record<string, unknown>

/**
 * Adds the token to every route, removes the framework's error schema, which is never sent, and makes the names of schemas
 * valid in an OpenAPI document.
 */
export const finished = (document: Json): Json => {
  const { components, ...rest } = clean(document) as Json & { readonly components: Json }
  return {
    ...rest,
    components: { ...components, securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }]
  }
}

const builtIn = "HttpApiDecodeError"

const isBuiltIn = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "$ref" in value && value.$ref === `#/components/schemas/${builtIn}`

const clean = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => !isBuiltIn(item)).map(clean)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => key !== builtIn && !(key === "$id" && isGenericId(item)))
      .map(([key, item]) => [
        key.replace(packagePrefix, ""),
        key === "$ref" && typeof item === "string" ? item.replace(packagePrefix, "") : clean(item)
      ])
  )
}

/** The prefix of this package's schema names. */
const packagePrefix = /mcp-supervisor(?:\/|~1)/

/** Whether an id is a generic one, such as that of "anything". It occurs in several places, but an id must be unique. */
const isGenericId = (id: unknown): boolean => typeof id === "string" && id.startsWith("/schemas/")
