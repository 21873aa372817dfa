/**
 * Splits an entry of a project file into parts that a person can read before the approval. Variables are not interpolated.
 */
import { dirname, resolve } from "node:path"
import { escapeHidden } from "../../domain/internal/hiddenCharacters.js"
import { pathKeys, shownAt } from "../document/keyFacts.js"
import type { LayerContent } from "../document/LayerContent.js"
import { hasPlaceholder } from "../layers/interpolate.js"
import { isHidden } from "../explain/redactParts.js"
import { redactReviewedEntry, showSetting } from "../explain/redactEntry.js"
import { addressText, variableText, withoutLiterals } from "./reviewText.js"
import * as Tree from "../document/Tree.js"
import { projectDirectoryOf } from "../layers/Workspace.js"

export interface ApprovedPart {
  /** The name of the part: `command`, `url`, `env NAME`, or a key. */
  readonly label: string
  /** The text for people: command lines in full, literal secrets of variables, headers and URLs hidden. */
  readonly text: string
  /** The exact value, to detect changes. */
  readonly value: unknown
}

/** The largest number of parts. A review shows every part, so an entry with more cannot be approved. */
export const maxParts = 500

/**
 * @param file the real path of the file that declares it, or will.
 * @param directory where the entry runs, if it sets a `cwd`. Defaults to what that says.
 */
export const entryParts = (file: string, tree: Tree.Tree, directory?: string): ReadonlyArray<ApprovedPart> =>
  Tree.isBranch(tree)
    ? [...runParts(file, tree, directory), ...otherParts(tree)]
    : [part("entry", JSON.stringify(Tree.toPlain(tree)) ?? "", Tree.toPlain(tree))]

export const settingParts = ({ settings }: LayerContent): ReadonlyArray<ApprovedPart> =>
  Array.from(settings.fields.size === 0 ? [] : Tree.leaves(settings), ([path, leaf]) =>
    part(path.join("."), openText(String(showSetting(path, leaf)), leaf), Tree.toPlain(leaf))
  )

const part = (label: string, text: string, value: unknown): ApprovedPart => ({
  label: escapeHidden(label),
  text: escapeHidden(text),
  value
})

/** The command line, and the directory that it would run in. */
const runParts = (file: string, { fields }: Tree.Branch, directory?: string): ReadonlyArray<ApprovedPart> => {
  const command = fields.get("command")
  const args = fields.get("args")
  const cwd = fields.get("cwd")
  const parts: Array<ApprovedPart> = []
  if (command !== undefined || args !== undefined) {
    const words = [command, args].flatMap(wordsOf)
    parts.push(part(command === undefined ? "args" : "command", words.map(quoted).join(" "), words))
  }
  if (command !== undefined || cwd !== undefined) {
    const place = cwd === undefined ? projectDirectoryOf(file) : directoryText(file, wordOf(cwd), directory)
    parts.push(part("cwd", place, directory ?? place))
  }
  return parts
}

/** An empty list has no word. */
const wordsOf = (tree: Tree.Tree | undefined): ReadonlyArray<string> =>
  tree === undefined || (tree._tag === "List" && tree.items.length === 0)
    ? []
    : Array.from(Tree.leaves(tree), ([, leaf]) => wordOf(leaf))

const wordOf = (tree: Tree.Tree): string => {
  const value = Tree.toPlain(tree)
  if (typeof value === "string") return value
  return typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value))
}

/** Quotes a word like a shell, so that the boundaries of words are visible. */
const quoted = (word: string): string => {
  const shown = escapeHidden(word)
  return /^[\w@%+=:,./{}$~-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}

const directoryText = (file: string, text: string, directory?: string): string =>
  hasPlaceholder(text) || text.startsWith("~") ? text : (directory ?? resolve(dirname(file), text))

const otherParts = (tree: Tree.Branch): ReadonlyArray<ApprovedPart> => {
  const show = redactReviewedEntry(tree)
  return Array.from(tree.fields).flatMap(([key, value]): ReadonlyArray<ApprovedPart> => {
    if (key === "command" || key === "args" || key === "cwd") return []
    return Array.from(Tree.leaves(value, [key]), ([path, leaf]) => {
      const raw = wordOf(leaf)
      const label = path.join(".")
      const name = path.slice(1).join(".")
      if (key === "environment" && name !== "") return part(`env ${name}`, variableText(name, raw), raw)
      if (key === "headers" && name !== "") return part(`header ${name}`, withoutLiterals(raw), raw)
      if (shownAt(path) === "url") return part(label, addressText(raw), raw)
      // the paths of files and directories that the server reads are shown in full
      if (pathKeys.includes(key)) return part(label, raw, raw)
      return part(label, openText(String(show(path, leaf)), leaf), raw)
    })
  })
}

/** The text that `config` shows for a value. If it hides something, the placeholders are shown. */
const openText = (shown: string, leaf: Tree.Tree): string => (isHidden(shown) ? withoutLiterals(wordOf(leaf)) : shown)
