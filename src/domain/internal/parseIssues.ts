/**
 * Converts Schema's parse issues without the values. Schema's own formatters print values, and a config contains secrets.
 */
import * as Arr from "effect/Array"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as SchemaAST from "effect/SchemaAST"
import { describeType, type Issue } from "../Issue.js"

type Path = Issue["path"]

/** The result of a failed check: what is wrong, and which keys are unknown. */
export interface Findings {
  readonly issues: ReadonlyArray<Issue>
  readonly unknownKeys: ReadonlyArray<Path>
}

/** Collects the issues and unknown keys. `limit` is the greatest number of each; by default there is none. */
export const findingsOf = (issue: ParseResult.ParseIssue, limit = Number.POSITIVE_INFINITY): Findings => {
  const issues: Array<Issue> = []
  const unknownKeys: Array<Path> = []

  const addIssue = (path: Path, ast: SchemaAST.AST, actual: unknown) => {
    issues.push({ path, expected: describeExpected(ast), found: describeType(actual) })
  }

  const visit = (issue: ParseResult.ParseIssue, path: Path): void => {
    if (issues.length >= limit) return
    switch (issue._tag) {
      case "Pointer":
        return visit(issue.issue, [...path, ...steps(issue.path)])
      case "Unexpected":
        return void (unknownKeys.length < limit && unknownKeys.push(path))
      case "Missing":
        return addIssue(path, issue.ast.type, undefined)
      case "Composite": {
        const relevant = SchemaAST.isUnion(issue.ast)
          ? issuesOfSameShape(alternatives(issue), issue.actual)
          : parts(issue)
        if (relevant.length === 0) return addIssue(path, issue.ast, issue.actual)
        return relevant.forEach((part) => visit(part, path))
      }
      case "Refinement":
      case "Transformation":
        return visit(issue.issue, path)
      default:
        return addIssue(path, issue.ast, issue.actual)
    }
  }

  visit(issue, [])
  return { issues, unknownKeys }
}

const parts = ({ issues }: ParseResult.Composite): ReadonlyArray<ParseResult.ParseIssue> => Arr.ensure(issues)

/** The issues of each alternative, including those of nested unions and of the type below a refinement. */
const alternatives = (issue: ParseResult.ParseIssue): ReadonlyArray<ParseResult.ParseIssue> => {
  if (issue._tag === "Refinement") return alternatives(issue.issue)
  return issue._tag === "Composite" && SchemaAST.isUnion(issue.ast) ? parts(issue).flatMap(alternatives) : [issue]
}

/**
 * The issues of the alternatives with the shape of the value: for an object, the user needs to know what is wrong inside, not
 * that a number is allowed, too.
 */
const issuesOfSameShape = (
  issues: ReadonlyArray<ParseResult.ParseIssue>,
  actual: unknown
): ReadonlyArray<ParseResult.ParseIssue> => {
  const isShape = Array.isArray(actual) ? SchemaAST.isTupleType : SchemaAST.isTypeLiteral
  return issues.filter((issue) => issue._tag === "Composite" && isShape(issue.ast))
}

const steps = (path: ParseResult.Path): Path =>
  Arr.ensure(path).map((step) => (typeof step === "number" ? step : String(step)))

/** Describes what a schema expects. */
const describeExpected = (ast: SchemaAST.AST): string =>
  Option.getOrElse(SchemaAST.getDescriptionAnnotation(ast), () => describeStructure(ast))

const describeStructure = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "Union":
      // an optional key allows `undefined`, which cannot be written in a config
      return ast.types
        .filter((type) => !SchemaAST.isUndefinedKeyword(type))
        .map(describeExpected)
        .join(", or ")
    case "TypeLiteral":
      return "an object"
    case "TupleType":
      return "an array"
    default:
      return String(ast)
  }
}
