/** Draws the picture of the README: a terminal with the recorded commands of `docs/picture.json` and their output. */
import { readFileSync } from "node:fs"

/** One command and the lines it printed, with their colours as escape sequences. */
export interface Recorded {
  readonly command: string
  /** Shown behind the command. */
  readonly comment?: string
  readonly output: ReadonlyArray<string>
}

const characterWidth = 8.43
const lineHeight = 21
const padding = 24
const titleHeight = 40

const colours: Readonly<Record<string, string>> = { "31": "bad", "32": "good", "33": "busy", "36": "name" }

interface Piece {
  readonly column: number
  readonly text: string
  readonly classes: ReadonlyArray<string>
}

/** Splits a line at changes of colour and at gaps, so that columns align in every font. */
const pieces = (line: string): ReadonlyArray<Piece> => {
  const found: Array<Piece> = []
  let weight = ""
  let colour = ""
  let column = 0
  // oxlint-disable-next-line no-control-regex
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    // oxlint-disable-next-line no-control-regex
    const code = /^\u001b\[([\d;]*)m$/.exec(part)?.[1]
    if (code === undefined) {
      const classes = [weight, colour].filter((each) => each !== "")
      for (const { 0: text, index } of part.matchAll(/\S+(?: \S+)*/g)) {
        found.push({ column: column + index, text, classes })
      }
      column += part.length
    }
    if (code === "1" || code === "2") weight = code === "1" ? "bold" : "dim"
    if (code === "22" || code === "0") weight = ""
    if (code === "39" || code === "0") colour = ""
    if (code !== undefined && code in colours) colour = colours[code]!
  }
  return found
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const round = (value: number): number => Math.round(value * 10) / 10

const textOf = ({ classes, column, text }: Piece, y: number): string => {
  const place = `x="${round(padding + column * characterWidth)}" y="${y}" textLength="${round(text.length * characterWidth)}"`
  return `<text ${place}${classes.length === 0 ? "" : ` class="${classes.join(" ")}"`}>${escaped(text)}</text>`
}

const commandPieces = ({ command, comment }: Recorded): ReadonlyArray<Piece> => [
  { column: 0, text: "$", classes: ["prompt"] },
  { column: 2, text: command, classes: ["bold"] },
  ...(comment === undefined ? [] : [{ column: command.length + 5, text: `# ${comment}`, classes: ["dim"] }])
]

export const picture = (recorded: ReadonlyArray<Recorded>): string => {
  const lines = recorded.flatMap((each, index) => [
    ...(index === 0 ? [] : [[]]),
    commandPieces(each),
    ...each.output.map(pieces)
  ])
  const columns = Math.max(...lines.flat().map(({ column, text }) => column + text.length))
  const width = Math.ceil(columns * characterWidth + 2 * padding)
  const height = titleHeight + lines.length * lineHeight + padding
  const texts = lines.flatMap((line, index) =>
    line.map((piece) => textOf(piece, titleHeight + Math.round((index + 0.9) * lineHeight)))
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A terminal session with mcp-supervisor</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; fill: #e6edf3; white-space: pre }
.bold { font-weight: 600 } .dim { fill: #8b949e } .prompt { fill: #58a6ff; font-weight: 600 }
.good { fill: #3fb950 } .bad { fill: #ff7b72 } .busy { fill: #d29922 } .name { fill: #39c5cf }
.title { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #8b949e; text-anchor: middle }
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="#0d1117" stroke="#30363d"/>
<path d="M0.5 ${titleHeight - 6}V10.5a10 10 0 0 1 10-10H${width - 10.5}a10 10 0 0 1 10 10V${titleHeight - 6}z" fill="#161b22" stroke="#30363d"/>
<circle cx="22" cy="17" r="6" fill="#ff5f57"/><circle cx="42" cy="17" r="6" fill="#febc2e"/><circle cx="62" cy="17" r="6" fill="#28c840"/>
<text x="${width / 2}" y="22" class="title">mcp-supervisor</text>
${texts.join("\n")}
</svg>
`
}

/** The picture of the recorded commands. */
export const pictureFile = (): string =>
  picture(JSON.parse(readFileSync(new URL("../docs/picture.json", import.meta.url), "utf8")))
