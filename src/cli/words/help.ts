/**
 * Renders the help of all commands and of one command.
 */
import { largest } from "../../domain/internal/extremes.js"
import { type Argument, type Group, kebab, type Option, type Spec, shared } from "./spec.js"
import type { Style } from "../terminal/style.js"
import { wrap } from "../terminal/table.js"

const program = "mcp-supervisor"

const groups: ReadonlyArray<readonly [Group, string]> = [
  ["inspect", "Inspect servers"],
  ["use", "Use servers"],
  ["configure", "Configure servers"],
  ["control", "Control a running supervisor"],
  ["log in", "Log in to servers"],
  ["run", "Run a supervisor"]
]

/** Renders the list of all commands. */
export const overview = (specs: ReadonlyArray<Spec>, style: Style, width: number): string => {
  const longest = largest(
    specs.map((spec) => usageOf(spec, false).length),
    0
  )
  const sections = groups.flatMap(([group, title]) => {
    const members = specs.filter((spec) => spec.group === group)
    const rows = members.map((spec) => row(usageOf(spec, false), spec.summary, Math.min(longest, 30), style, width))
    return members.length === 0 ? [] : [[style.bold(title), ...rows].join("\n")]
  })
  return [
    `${style.bold(program)} keeps any number of MCP servers running and merges their tools into one catalog.`,
    `${style.bold("Usage")}\n  ${program} <command> [options]`,
    ...sections,
    [
      style.bold("Get started"),
      `  ${program} serve --demo              ${style.dim("run four example servers and print commands to try")}`,
      `  ${program} import claude-code        ${style.dim("import the servers of another MCP client")}`,
      `  ${program} <command> --help          ${style.dim("show the options of a command, with examples")}`
    ].join("\n")
  ].join("\n\n")
}

/** Renders the help of one command. */
export const page = (spec: Spec, style: Style, width: number): string => {
  const args = Object.values(spec.arguments)
  const own = Object.entries(spec.options)
  const labels = [
    ...args.map(({ value }) => `<${value}>`),
    ...[...own, ...Object.entries(shared)].map(([key, option]) => optionLabel(key, option))
  ]
  const column = Math.min(
    largest(
      labels.map((label) => label.length),
      0
    ),
    28
  )
  const optionRows = (options: ReadonlyArray<readonly [string, Option]>) =>
    options.map(([key, option]) => row(optionLabel(key, option), optionSummary(option), column, style, width))
  const section = (title: string, rows: ReadonlyArray<string>) =>
    rows.length === 0 ? [] : [[style.bold(title), ...rows].join("\n")]
  return [
    `${spec.summary}.`,
    ...(spec.details === undefined ? [] : [wrap(spec.details, width).join("\n")]),
    `${style.bold("Usage")}\n  ${program} ${usageOf(spec)}`,
    ...section(
      "Arguments",
      args.map((each) => row(`<${each.value}>`, argumentSummary(each), column, style, width))
    ),
    ...section("Options", optionRows(own)),
    ...section("Options of every command", optionRows(Object.entries(shared))),
    ...section(
      spec.examples.length === 1 ? "Example" : "Examples",
      spec.examples.map((example) => `  ${program} ${example}`)
    )
  ].join("\n\n")
}

/** Renders the usage of a command, such as `add <name> [options] [-- command…]`. */
export const usageOf = (spec: Spec, full = true): string => {
  const args = Object.values(spec.arguments).map(({ need, value }) => {
    if (need === "required") return `<${value}>`
    return need === "many" ? `[${value}…]` : `[${value}]`
  })
  const options = Object.keys(spec.options).length > 0 && full ? ["[options]"] : []
  const rest = spec.rest === undefined || !full ? [] : [`[-- ${spec.rest}]`]
  return [spec.name, ...args, ...options, ...rest].join(" ")
}

export const optionLabel = (key: string, option: Option): string => {
  const alias = option._tag === "Flag" && option.alias !== undefined ? `-${option.alias}, ` : ""
  const value = option._tag === "Flag" ? "" : ` ${option.value}`
  return `${alias}--${kebab(key)}${value}`
}

export const optionSummary = (option: Option): string =>
  option._tag === "Text" && option.choices !== undefined
    ? `${option.summary}: ${option.choices.join(", ")}`
    : option.summary

const argumentSummary = ({ choices, summary }: Argument): string =>
  choices === undefined ? summary : `${summary}: ${choices.join(", ")}`

const row = (label: string, summary: string, column: number, style: Style, width: number): string => {
  const indent = " ".repeat(column + 4)
  const lines = wrap(summary, Math.max(width - indent.length, 24))
  const first = label.length > column ? [`  ${style.name(label)}`] : []
  const texts = lines.map((line, index) =>
    index === 0 && first.length === 0 ? `  ${style.name(label.padEnd(column))}  ${line}` : `${indent}${line}`
  )
  return [...first, ...texts].join("\n")
}
