/**
 * What an OpenAPI document says beyond what is derived.
 */

type Json = Record<string, unknown>

/** Every route takes the token, and errors come in one shape: the one that is built in is never sent. */
export const withBearer = (document: Json): Json => {
  const { components, ...rest } = withoutBuiltInError(document) as Json & { readonly components: Json }
  return {
    ...rest,
    components: { ...components, securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }]
  }
}

const builtIn = "#/components/schemas/HttpApiDecodeError"

const isBuiltIn = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "$ref" in value && value.$ref === builtIn

const withoutBuiltInError = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => !isBuiltIn(item)).map(withoutBuiltInError)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "HttpApiDecodeError")
      .map(([key, item]) => [key, withoutBuiltInError(item)])
  )
}
