/**
 * What a validator says about alternatives, without what says nothing.
 */
import type { ErrorObject } from "ajv"

export type Error = ErrorObject<string, Readonly<Record<string, unknown>>>

/** Keywords that fail together with what they gather: what each alternative, or each item, had to say. */
const gathering = new Set(["anyOf", "oneOf", "contains", "propertyNames"])

/** Where one of several shapes is wanted, what each of them says is noise, unless only one of them could be meant. */
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

/** Errors within `$defs` do not say by which way they were reached: below a failing alternative, they count as its own. */
const isGathered = ({ instancePath, schemaPath }: Error, by: Error): boolean => {
  const parent = by.schemaPath.slice(0, by.schemaPath.lastIndexOf("/") + 1)
  const beside =
    schemaPath.startsWith(parent) &&
    !schemaPath.startsWith(`${by.schemaPath}/`) &&
    (inDefinition.test(parent) || !inDefinition.test(schemaPath))
  return !beside && (instancePath === by.instancePath || instancePath.startsWith(`${by.instancePath}/`))
}

const inDefinition = /^#\/(\$defs|definitions)\//

/** What the one alternative says that is for this kind of value, if there is exactly one. */
const alternativeMeant = (error: Error, gathered: ReadonlyArray<Error>): ReadonlyArray<Error> => {
  if (!Array.isArray(error.schema) || Array.isArray(error.params.passingSchemas)) return []
  const misfits = new Set(gathered.flatMap((each) => misfit(each, error.instancePath)))
  if (error.schema.length - misfits.size !== 1) return []
  return gathered.filter(
    ({ schemaPath }) => ![...misfits].some((alternative) => schemaPath.startsWith(`${alternative}/`))
  )
}

/** The alternative that is not for a value of this type, or of the kind that one of its keys says. */
const misfit = ({ instancePath, keyword, schema, schemaPath }: Error, at: string): ReadonlyArray<string> => {
  const steps = schemaPath.split("/")
  if (keyword === "type" && instancePath === at) return [steps.slice(0, -1).join("/")]
  const fixed = keyword === "const" || (keyword === "enum" && Array.isArray(schema) && schema.length === 1)
  const ofKey = instancePath.startsWith(`${at}/`) && !instancePath.includes("/", at.length + 1)
  return fixed && ofKey ? [steps.slice(0, -3).join("/")] : []
}
