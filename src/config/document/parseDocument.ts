/**
 * Parses a text to values with their places. Any text gives values, or issues with their places.
 */
import * as Either from "effect/Either"
import type { Issue } from "../../domain/Issue.js"
import type { ConfigLayer } from "../layers/ConfigLayer.js"
import { parseJson } from "./parseJson.js"
import { parseToml } from "./parseToml.js"
import { placeOf, type DocumentText } from "./DocumentText.js"
import { childrenOf, type ValueOrigin, type Tree } from "./Tree.js"

/** The longest document, in UTF-16 units. Five hundred servers take a twentieth of it. */
export const maxLength = 4 * 1024 * 1024

export interface ParsedDocument {
  readonly tree: Tree
  /** Keys that occur twice. The later one wins. */
  readonly duplicates: ReadonlyArray<ValueOrigin>
}

/** Parses a document. A blank text is an empty document. */
export const parse = (text: DocumentText, layer: ConfigLayer): Either.Either<ParsedDocument, ReadonlyArray<Issue>> => {
  if (text.text.length > maxLength) {
    return failed(text, `at most ${maxLength} characters`, "a longer text")
  }
  try {
    const parsed = text.format === "toml" ? parseToml(text, layer) : parseJson(text, layer)
    return Either.filterOrLeft(
      parsed,
      ({ tree }) => !isDeeper(tree, maxDepth),
      () => tooDeep(text)
    )
  } catch {
    // parsers recurse once per level
    return Either.left(tooDeep(text))
  }
}

/** The deepest nesting. No config has so many levels, and later code recurses once per level. */
const maxDepth = 64

const isDeeper = (tree: Tree, levels: number): boolean =>
  childrenOf(tree).some((child) => levels === 0 || isDeeper(child, levels - 1))

const tooDeep = (text: DocumentText): ReadonlyArray<Issue> => [
  {
    path: [],
    expected: `at most ${maxDepth} levels`,
    found: "one that is nested too deep",
    ...placeOf(text, undefined)
  }
]

const failed = (text: DocumentText, expected: string, found: string): Either.Either<never, ReadonlyArray<Issue>> =>
  Either.left([{ path: [], expected, found, ...placeOf(text, undefined) }])
