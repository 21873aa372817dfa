import { argument, command } from "../words/spec.js"
import { shells } from "../words/completionScripts.js"

/** `main.ts` runs this command itself, because it needs no supervisor. */
export const spec = command({
  name: "completions",
  summary: "Print a completion script for a shell",
  group: "run",
  arguments: { shell: argument("required", "shell", "The shell", shells) },
  options: {},
  examples: ["completions bash >> ~/.bashrc", "completions fish | source"]
})
