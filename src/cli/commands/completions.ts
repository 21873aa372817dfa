import { argument, command } from "../spec.js"
import { shells } from "../completions.js"

/** Answered by the front, before anything else is loaded. */
export const spec = command({
  name: "completions",
  summary: "A script that completes commands and options in a shell",
  group: "run",
  arguments: { shell: argument("required", "shell", "Which one", shells) },
  options: {},
  examples: ["completions bash >> ~/.bashrc", "completions fish | source"]
})
