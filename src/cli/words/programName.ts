/**
 * Returns the command that started this program, so that printed commands work when they are copied.
 */
import { basename, relative } from "node:path"

export const programName = (): string => {
  const [, file = "mcp-supervisor"] = process.argv
  if (basename(file) === "mcp-supervisor") return "mcp-supervisor"
  const path = relative(process.cwd(), file)
  return `node ${path.startsWith("..") ? file : path}`
}
