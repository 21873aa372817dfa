import { argument, command } from "../words/spec.js"
import { shells } from "../words/completionScripts.js"

/** Answered by the front, before anything else is loaded. */
export const spec = command({
  name: "completions",
  summary: "Print a completion script for a shell",
  group: "run",
  arguments: { shell: argument("required", "shell", "The shell", shells) },
  options: {},
  examples: ["completions bash >> ~/.bashrc", "completions fish | source"]
})
