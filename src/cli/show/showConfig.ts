/**
 * Renders the effective configuration and its problems for people.
 */
import type { ExplainedValue, Explanation, Loaded } from "../../config/ConfigFiles.js"
import { render, renderPath } from "../../domain/Issue.js"
import type { Style } from "../terminal/style.js"

export const explanationLines = (
  { servers, settings }: Explanation,
  layers: Loaded["layers"],
  style: Style
): ReadonlyArray<string> => [
  style.bold("files, in order of increasing precedence"),
  ...(layers.length === 0 ? ["  none"] : layers.map((layer) => `  ${layer.name} ${style.dim(`(${layer.kind})`)}`)),
  ...servers.flatMap((server) => [
    "",
    `${style.bold(server.name)} ${server.state === "enabled" ? style.good("enabled") : style.busy(server.state)}`,
    ...server.values.map((value) => valueLine(value, style)),
    ...server.issues.map((issue) => `  ${style.bad(render(issue))}`)
  ]),
  ...(settings.length === 0 ? [] : ["", style.bold("settings"), ...settings.map((value) => valueLine(value, style))])
]

/** The errors of files that were skipped, and the diagnostics of the others. */
export const problemLines = (
  { diagnostics, problems }: Pick<Loaded, "diagnostics" | "problems">,
  style: Style
): ReadonlyArray<string> => [
  ...problems.map(({ message }) => style.bad(message)),
  ...diagnostics.map(({ file, line, message, severity }) => {
    const place = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `
    return `${severity}: ${place}${message}`
  })
]

const valueLine = ({ file, line, path, value }: ExplainedValue, style: Style): string => {
  const place = line === undefined ? file : `${file}:${line}`
  return `  ${renderPath(path)} = ${JSON.stringify(value)} ${style.dim(place)}`
}
