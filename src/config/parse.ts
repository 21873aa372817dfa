/**
 * From a text to values with their places. Total: whatever the text, it gives values or says what is wrong where.
 */
import * as Either from "effect/Either"
import type { Issue } from "../domain/Issue.js"
import type { Layer } from "./Layer.js"
import { parseJson } from "./parseJson.js"
import { parseToml } from "./parseToml.js"
import { placeOf, type Text } from "./Text.js"
import type { Origin, Tree } from "./Tree.js"

/** In UTF-16 units. Five hundred servers take a twentieth of it. */
export const maxLength = 4 * 1024 * 1024

export interface Parsed {
  readonly tree: Tree
  /** Keys that were given twice; the later one holds. */
  readonly duplicates: ReadonlyArray<Origin>
}

/** A text without content is a document that says nothing. */
export const parse = (text: Text, layer: Layer): Either.Either<Parsed, ReadonlyArray<Issue>> => {
  if (text.text.length > maxLength) {
    return failed(text, `at most ${maxLength} characters`, "a longer text")
  }
  try {
    return text.format === "toml" ? parseToml(text, layer) : parseJson(text, layer)
  } catch {
    // parsers go down one call per level
    return failed(text, "a document that can be read", "one that is nested too deep")
  }
}

const failed = (text: Text, expected: string, found: string): Either.Either<never, ReadonlyArray<Issue>> =>
  Either.left([{ path: [], expected, found, ...placeOf(text, undefined) }])
