/**
 * Writes the maps of `docs/architecture.md`: every file of `src/` with the first sentence of its header comment.
 */
import { readdirSync, readFileSync } from "node:fs"
import { basename, posix, sep } from "node:path"

const root = new URL("../", import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), "utf8")

const sources = readdirSync(new URL("src/", root), { recursive: true, encoding: "utf8" })
  .map((file) => file.split(sep).join("/"))
  .filter((file) => file.endsWith(".ts"))

/** The summary of a command; for any other file, the first sentence of its first doc comment. */
export const headline = (text: string): string | undefined => {
  const summary = /= command\(\{[\s\S]*?summary:\s*"([^"]+)"/.exec(text)?.[1]
  if (summary !== undefined) return summary
  const comment = /\/\*\*([\s\S]*?)\*\//.exec(text)?.[1]
  if (comment === undefined) return undefined
  const words = comment
    .split("\n")
    .map((line) => line.replace(/^\s*\*? ?/, "").trim())
    .join(" ")
    .replace(/\s@[a-z].*$/, "")
    .trim()
  const sentence = /^.*?[.:](?=\s|$)/.exec(words)?.[0] ?? words
  return sentence.replace(/[.:]$/, "")
}

interface Folder {
  readonly files: Array<string>
  readonly folders: Set<string>
}

const foldersOf = (): ReadonlyMap<string, Folder> => {
  const folders = new Map<string, Folder>()
  const at = (path: string): Folder => {
    const known = folders.get(path)
    if (known !== undefined) return known
    const made: Folder = { files: [], folders: new Set() }
    folders.set(path, made)
    if (path !== ".") at(posix.dirname(path)).folders.add(path)
    return made
  }
  for (const file of sources) at(posix.dirname(file)).files.push(file)
  return folders
}

const width = 26

const line = (depth: number, name: string, text: string) =>
  `${`${"  ".repeat(depth)}${name}`.padEnd(width)} ${text}`.trimEnd()

const fileLine = (depth: number, file: string) =>
  line(depth, basename(file, ".ts"), headline(read(`src/${file}`)) ?? "")

const byName = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)

/** The files of a folder, then its folders. A folder named after a file holds the parts of that file and follows it. */
const tree = (folders: ReadonlyMap<string, Folder>, path: string, depth: number): ReadonlyArray<string> => {
  const { files, folders: below } = folders.get(path)!
  const inner = (folder: string) => tree(folders, folder, depth + 1)
  const parts = new Set<string>()
  const lines = files.toSorted(byName).flatMap((file) => {
    const folder = posix.join(path, basename(file, ".ts"))
    if (!below.has(folder)) return [fileLine(depth, file)]
    parts.add(folder)
    return [fileLine(depth, file), ...inner(folder)]
  })
  const rest = [...below].filter((folder) => !parts.has(folder)).toSorted(byName)
  return [...lines, ...rest.flatMap((folder) => [line(depth, `${basename(folder)}/`, ""), ...inner(folder)])]
}

/** The map of a room; `.` stands for the files directly in `src/`. */
const mapOf = (room: string): string => {
  const folders = foldersOf()
  const files = folders.get(".")!.files.toSorted(byName)
  const lines = room === "." ? files.map((file) => fileLine(1, file)) : tree(folders, room, 1)
  return ["```text", room === "." ? "src/" : `${room}/`, ...lines, "```"].join("\n")
}

/** The rooms: the folders directly in `src/`. */
export const rooms = (): ReadonlyArray<string> =>
  [...new Set(sources.filter((file) => file.includes("/")).map((file) => file.split("/")[0]!))].toSorted(byName)

/** `docs/architecture.md` with new maps. The other text is kept. */
export const architecturePage = (): string =>
  read("docs/architecture.md").replaceAll(
    /<!-- map of (\S+) -->\n[\s\S]*?<!-- end of map -->/g,
    (_, room: string) => `<!-- map of ${room} -->\n${mapOf(room)}\n<!-- end of map -->`
  )
