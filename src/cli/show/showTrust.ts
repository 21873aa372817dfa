/**
 * Renders what an approval covers for people, with hidden characters escaped.
 */
import type { Review, ReviewedFile, ReviewedPart, ReviewedServer } from "../../config/ConfigFiles.js"
import { escapeHidden } from "../../domain/internal/hiddenCharacters.js"
import type { Style } from "../terminal/style.js"

export const reviewLines = ({ directory, files }: Review, style: Style): ReadonlyArray<string> => [
  ...files.flatMap((file) => reviewedLines(file, style)),
  ...(directory === undefined || directory.isTrusted
    ? []
    : [
        style.bold(escapeHidden(directory.path)),
        `  directory ${style.busy("new")}: your own servers without "cwd" run here`
      ])
]

/** Whether the review contains anything that is not approved yet. */
export const hasChanges = ({ directory, files }: Review): boolean =>
  directory?.isTrusted === false ||
  files.some(
    ({ entries, removed, settings }) =>
      removed.length > 0 ||
      entries.some(({ change }) => change !== "unchanged") ||
      settings.some(({ change }) => change !== undefined)
  )

const reviewedLines = ({ entries, file, removed, settings }: ReviewedFile, style: Style): ReadonlyArray<string> => [
  style.bold(escapeHidden(file)),
  ...entries.flatMap((entry) => entryLines(entry, style)),
  ...removed.map((name) => `  ${name} ${style.dim("removed")}`),
  ...(settings.length === 0 ? [] : ["  settings", ...settings.map((part) => partLine(part, style))])
]

export const entryLines = ({ change, name, parts }: ReviewedServer, style: Style): ReadonlyArray<string> => [
  `  ${style.bold(name)} ${change === "unchanged" ? style.dim(change) : style.busy(change)}`,
  ...parts.map((part) => partLine(part, style))
]

const width = 9

const partLine = ({ change, label, text = "" }: ReviewedPart, style: Style): string => {
  const line = (sign: string) => `  ${sign} ${label.padEnd(width)} ${text}`.trimEnd()
  switch (change) {
    case "added":
      return style.good(line("+"))
    case "removed":
      return style.bad(line("-"))
    case "changed":
      return style.busy(line("~"))
    default:
      return line(" ")
  }
}
