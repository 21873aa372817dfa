/**
 * Renders catalogs and the results of calls for people.
 */
import * as Content from "../../domain/catalog/Content.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { Style } from "../terminal/style.js"
import { table } from "../terminal/table.js"

interface Options {
  readonly style: Style
  readonly width: number | undefined
}

/** Returns the first sentence of a description. The others are for models. */
const brief = (text: string | undefined): string => (text ?? "").trim().split(/\n|(?<=\.)\s/)[0] ?? ""

export const toolTable = (tools: ReadonlyArray<Protocol.Tool>, { style, width }: Options): ReadonlyArray<string> =>
  table(
    [
      { title: "TOOL", flexible: true },
      { title: "ARGUMENTS", flexible: true },
      { title: "DESCRIPTION", flexible: true }
    ],
    tools.map((tool) => [
      { text: tool.name, paint: style.bold },
      { text: parameters(tool.inputSchema).join(" "), paint: style.dim },
      { text: brief(tool.description) }
    ]),
    { width, head: style.dim }
  )

/** Lists the parameters of a tool: `name` if required, otherwise `name?`. */
export const parameters = (schema: Protocol.JsonSchema): ReadonlyArray<string> => {
  const { properties, required } = schema
  if (typeof properties !== "object" || properties === null) return []
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  return Object.keys(properties).map((name) => (isRequired(name) ? name : `${name}?`))
}

export const resourceTable = (
  resources: ReadonlyArray<Protocol.Resource | Protocol.ResourceTemplate>,
  { style, width }: Options
): ReadonlyArray<string> =>
  table(
    [{ title: "SERVER" }, { title: "URI", flexible: true }, { title: "NAME", flexible: true }, { title: "TYPE" }],
    resources.map((each) => [
      { text: each.server, paint: style.bold },
      { text: "uri" in each ? each.uri : each.uriTemplate },
      { text: each.name },
      { text: each.mimeType ?? "", paint: style.dim }
    ]),
    { width, head: style.dim }
  )

export const promptTable = (
  prompts: ReadonlyArray<Protocol.Prompt>,
  { style, width }: Options
): ReadonlyArray<string> =>
  table(
    [
      { title: "SERVER" },
      { title: "PROMPT" },
      { title: "ARGUMENTS", flexible: true },
      { title: "DESCRIPTION", flexible: true }
    ],
    prompts.map((prompt) => [
      { text: prompt.server, paint: style.bold },
      { text: prompt.name },
      {
        text: prompt.arguments.map(({ name, required }) => (required ? name : `${name}?`)).join(" "),
        paint: style.dim
      },
      { text: brief(prompt.description) }
    ]),
    { width, head: style.dim }
  )

/** People get the complete result. */
const whole = { limit: Number.POSITIVE_INFINITY }

export const resultText = ({ content, structuredContent }: Protocol.CallToolResult): string =>
  content.length === 0 && structuredContent !== undefined
    ? JSON.stringify(structuredContent, null, 2)
    : Content.formatContent(content, whole)

export const promptText = ({ messages }: Protocol.GetPromptResult): string =>
  messages.map(({ content, role }) => `${role}: ${Content.formatContent([content], whole)}`).join("\n\n")
