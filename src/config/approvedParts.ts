/**
 * What an entry of a project file would do, in parts that a person can read before approving it. Variables are not put in.
 */
import { dirname, resolve } from "node:path"
import { escapeHidden } from "../domain/hiddenCharacters.js"
import { isMadeOfWords } from "../domain/looksLikeName.js"
import * as Secrets from "../domain/Secrets.js"
import type { Content } from "./Content.js"
import { hasPlaceholder } from "./interpolate.js"
import { hidden, isHidden } from "./openParts.js"
import { namesOnly } from "./openText.js"
import { openValue, showSetting } from "./openValue.js"
import * as Tree from "./Tree.js"
import { projectDirectoryOf } from "./Workspace.js"

export interface Part {
  /** Which part of the entry: `command`, `url`, `env NAME`, a key. */
  readonly label: string
  /** For a person: command lines in full, literal secrets of variables, headers and addresses hidden. */
  readonly text: string
  /** What is kept of it for later comparison: literal secrets of command lines are hidden, too. */
  readonly kept: string
  /** What it says exactly, to tell whether it changed. */
  readonly value: unknown
}

/** More parts than this are one: a file must not fill the screen. */
const maxParts = 100

/** Longer texts are kept up to here; whether they changed is told exactly. */
const maxKept = 1000

/** @param file the real path of the file. */
export const entryParts = (file: string, { servers }: Content, name: string): ReadonlyArray<Part> => {
  const tree = servers.get(name)?.tree
  if (tree === undefined) return []
  if (!Tree.isBranch(tree)) return [part("entry", JSON.stringify(Tree.toPlain(tree)) ?? "", Tree.toPlain(tree))]
  return limited([...runParts(file, tree), ...otherParts(tree)])
}

export const settingParts = ({ settings }: Content): ReadonlyArray<Part> =>
  limited(
    Array.from(settings.fields.size === 0 ? [] : Tree.leaves(settings), ([path, leaf]) =>
      part(path.join("."), String(showSetting(path, leaf)), Tree.toPlain(leaf))
    )
  )

const part = (label: string, text: string, value: unknown, kept = text): Part => ({
  label: escapeHidden(label),
  text: escapeHidden(text),
  kept: cut(escapeHidden(kept)),
  value
})

const cut = (text: string): string => (text.length > maxKept ? `${text.slice(0, maxKept)}…` : text)

const limited = (parts: ReadonlyArray<Part>): ReadonlyArray<Part> => {
  if (parts.length <= maxParts) return parts
  const rest = parts.slice(maxParts)
  const value = rest.map((each) => [each.label, each.value])
  return [...parts.slice(0, maxParts), part("more", `${rest.length} more keys`, value)]
}

/** The command line, and where it would run. */
const runParts = (file: string, { fields }: Tree.Branch): ReadonlyArray<Part> => {
  const command = fields.get("command")
  const args = fields.get("args")
  const cwd = fields.get("cwd")
  const parts: Array<Part> = []
  if (command !== undefined || args !== undefined) {
    const words = [command, args].flatMap((tree) =>
      Array.from(tree === undefined ? [] : Tree.leaves(tree), ([, leaf]) => wordOf(leaf))
    )
    const literal = [...Secrets.ofArguments(words)].filter((text) => isHidden(namesOnly(Secrets.reveal(text))))
    const line = words.map(quoted).join(" ")
    parts.push(
      part(command === undefined ? "args" : "command", line, words, Secrets.scrub(Secrets.make(literal))(line))
    )
  }
  if (command !== undefined || cwd !== undefined) {
    const place = cwd === undefined ? projectDirectoryOf(file) : directoryText(file, wordOf(cwd))
    parts.push(part("cwd", place, place))
  }
  return parts
}

const wordOf = (tree: Tree.Tree): string => {
  const value = Tree.toPlain(tree)
  if (typeof value === "string") return value
  return typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value))
}

/** As a shell would want it, so that it is seen where one word ends and the next begins. */
const quoted = (word: string): string => {
  const shown = escapeHidden(word)
  return /^[\w@%+=:,./{}$~-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}

const directoryText = (file: string, text: string): string =>
  hasPlaceholder(text) || text.startsWith("~") ? text : resolve(dirname(file), text)

const otherParts = (tree: Tree.Branch): ReadonlyArray<Part> => {
  const show = openValue(tree)
  return Array.from(tree.fields).flatMap(([key, value]): ReadonlyArray<Part> => {
    if (key === "command" || key === "args" || key === "cwd") return []
    return Array.from(Tree.leaves(value, [key]), ([path, leaf]) => {
      const raw = wordOf(leaf)
      const name = path.slice(1).join(".")
      if (key === "environment" && name !== "") return part(`env ${name}`, variableText(name, raw), raw)
      if (key === "headers" && name !== "") return part(`header ${name}`, namesOnly(raw), raw)
      if (/^(?:url|oauth\.\w*(?:Url|Uri))$/.test(path.join("."))) return part(path.join("."), addressText(raw), raw)
      return part(path.join("."), String(show(path, leaf)), raw)
    })
  })
}

const sensitiveName = /key|cert|cookie|session|salt|signature/i

/** The value of a variable, unless it is a secret: some variables decide what is run. */
const variableText = (name: string, text: string): string => {
  const names = namesOnly(text)
  if (!isHidden(names)) return text
  const isToken = /^[^\s/\\.=]{12,}$/.test(text) && !isMadeOfWords(text)
  return isToken || Secrets.isSensitiveFlag(name) || sensitiveName.test(name) ? names : text
}

/** An address with its host and path in full: only what stands for a login or in the query is hidden. */
const addressText = (text: string): string =>
  text
    .replace(/^([a-z][a-z\d+.-]*:\/\/)([^/?#]*)@/i, (_all, scheme: string, user: string) => `${scheme}${open(user)}@`)
    .replace(/\?([^#]*)/, (_all, query: string) => `?${query.split("&").map(pairText).join("&")}`)

const pairText = (pair: string): string =>
  pair.replace(/=(.*)$/s, (_all, value: string) => `=${value === "" ? "" : open(value)}`)

const open = (text: string): string => {
  const names = namesOnly(text)
  return isHidden(names) ? hidden : text
}
