/**
 * How we were called, so that what we tell people to type works where they are.
 */
import { basename, relative } from "node:path"

export const programName = (): string => {
  const [, file = "mcp-supervisor"] = process.argv
  if (basename(file) === "mcp-supervisor") return "mcp-supervisor"
  const near = relative(process.cwd(), file)
  return `node ${near.startsWith("..") ? file : near}`
}
