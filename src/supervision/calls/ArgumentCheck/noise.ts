/**
 * Removes the errors of a validator that do not help, such as those of alternatives that do not apply.
 */
import type { ErrorObject } from "ajv"

export type Error = ErrorObject<string, Readonly<Record<string, unknown>>>

/** Keywords whose failure is reported along with the errors of their alternatives or items. */
const gathering = new Set(["anyOf", "oneOf", "contains", "propertyNames"])

/** Drops the errors of alternatives, unless exactly one alternative fits the kind of value. */
export const withoutNoise = (errors: ReadonlyArray<Error>): ReadonlyArray<Error> => {
  const dropped = new Set<Error>(errors.filter(({ keyword }) => keyword === "if"))
  for (const [index, error] of [...errors.entries()].toReversed()) {
    if (dropped.has(error) || !gathering.has(error.keyword)) continue
    const gathered = errors.slice(0, index).filter((other) => !dropped.has(other) && isGathered(other, error))
    const meant = alternativeMeant(error, gathered)
    for (const each of meant.length === 0 ? gathered : [error, ...gathered]) dropped.add(each)
    for (const each of meant) dropped.delete(each)
  }
  return errors.filter((error) => !dropped.has(error))
}

/**
 * Whether an error belongs to a failed alternative. The path of an error within `$defs` does not show which reference
 * led to it: such an error counts as part of the alternative if its instance path lies below it.
 */
const isGathered = ({ instancePath, schemaPath }: Error, by: Error): boolean => {
  const parent = by.schemaPath.slice(0, by.schemaPath.lastIndexOf("/") + 1)
  const beside =
    schemaPath.startsWith(parent) &&
    !schemaPath.startsWith(`${by.schemaPath}/`) &&
    (inDefinition.test(parent) || !inDefinition.test(schemaPath))
  return !beside && (instancePath === by.instancePath || instancePath.startsWith(`${by.instancePath}/`))
}

const inDefinition = /^#\/(\$defs|definitions)\//

/** The errors of the one alternative that fits the kind of value; empty unless there is exactly one. */
const alternativeMeant = (error: Error, gathered: ReadonlyArray<Error>): ReadonlyArray<Error> => {
  if (!Array.isArray(error.schema) || Array.isArray(error.params.passingSchemas)) return []
  const misfits = new Set(gathered.flatMap((each) => misfit(each, error.instancePath)))
  if (error.schema.length - misfits.size !== 1) return []
  return gathered.filter(
    ({ schemaPath }) => ![...misfits].some((alternative) => schemaPath.startsWith(`${alternative}/`))
  )
}

/** The path of an alternative that expects another type, or another constant in one of its keys. */
const misfit = ({ instancePath, keyword, schema, schemaPath }: Error, at: string): ReadonlyArray<string> => {
  const steps = schemaPath.split("/")
  if (keyword === "type" && instancePath === at) return [steps.slice(0, -1).join("/")]
  const fixed = keyword === "const" || (keyword === "enum" && Array.isArray(schema) && schema.length === 1)
  const ofKey = instancePath.startsWith(`${at}/`) && !instancePath.includes("/", at.length + 1)
  return fixed && ofKey ? [steps.slice(0, -3).join("/")] : []
}
