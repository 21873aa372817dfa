/**
 * Our own formatter of parse issues. The ones that come with Schema print the value that was found; a config holds secrets.
 */
import * as Arr from "effect/Array"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as SchemaAST from "effect/SchemaAST"
import { describeType, type Issue } from "../Issue.js"

type Path = Issue["path"]

/** What a schema said about a value, told apart: what is wrong, and what is merely not known. */
export interface Findings {
  readonly issues: ReadonlyArray<Issue>
  readonly unknownKeys: ReadonlyArray<Path>
}

/** At most so many issues, and so many unknown keys, are told. Defaults to all. */
export const findingsOf = (issue: ParseResult.ParseIssue, most = Number.POSITIVE_INFINITY): Findings => {
  const issues: Array<Issue> = []
  const unknownKeys: Array<Path> = []

  const wrong = (path: Path, ast: SchemaAST.AST, actual: unknown) => {
    issues.push({ path, expected: expectation(ast), found: describeType(actual) })
  }

  const visit = (issue: ParseResult.ParseIssue, path: Path): void => {
    if (issues.length >= most) return
    switch (issue._tag) {
      case "Pointer":
        return visit(issue.issue, [...path, ...steps(issue.path)])
      case "Unexpected":
        return void (unknownKeys.length < most && unknownKeys.push(path))
      case "Missing":
        return wrong(path, issue.ast.type, undefined)
      case "Composite": {
        const relevant = SchemaAST.isUnion(issue.ast) ? ofSameShape(alternatives(issue), issue.actual) : parts(issue)
        if (relevant.length === 0) return wrong(path, issue.ast, issue.actual)
        return relevant.forEach((part) => visit(part, path))
      }
      case "Refinement":
      case "Transformation":
        return visit(issue.issue, path)
      default:
        return wrong(path, issue.ast, issue.actual)
    }
  }

  visit(issue, [])
  return { issues, unknownKeys }
}

const parts = ({ issues }: ParseResult.Composite): ReadonlyArray<ParseResult.ParseIssue> => Arr.ensure(issues)

/** What each alternative said, also those of unions within unions, and of what a check was to be made on. */
const alternatives = (issue: ParseResult.ParseIssue): ReadonlyArray<ParseResult.ParseIssue> => {
  if (issue._tag === "Refinement") return alternatives(issue.issue)
  return issue._tag === "Composite" && SchemaAST.isUnion(issue.ast) ? parts(issue).flatMap(alternatives) : [issue]
}

/**
 * Where several shapes are allowed, only the one that was tried matters: somebody who wrote an object wants to know what is
 * wrong inside, not that a number would have been fine too.
 */
const ofSameShape = (
  issues: ReadonlyArray<ParseResult.ParseIssue>,
  actual: unknown
): ReadonlyArray<ParseResult.ParseIssue> => {
  const isShape = Array.isArray(actual) ? SchemaAST.isTupleType : SchemaAST.isTypeLiteral
  return issues.filter((issue) => issue._tag === "Composite" && isShape(issue.ast))
}

const steps = (path: ParseResult.Path): Path =>
  Arr.ensure(path).map((step) => (typeof step === "number" ? step : String(step)))

/** What a schema wants, in words. */
const expectation = (ast: SchemaAST.AST): string =>
  Option.getOrElse(SchemaAST.getDescriptionAnnotation(ast), () => structure(ast))

const structure = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "Union":
      // a key that may be left out allows undefined, which nobody can write
      return ast.types
        .filter((type) => !SchemaAST.isUndefinedKeyword(type))
        .map(expectation)
        .join(", or ")
    case "TypeLiteral":
      return "an object"
    case "TupleType":
      return "an array"
    default:
      return String(ast)
  }
}
