// A hand-written server on stdio with one tool, which uses as little time as possible.
import { answering } from "./answer.mjs"

const answer = answering()
let rest = ""
process.stdin.setEncoding("utf8")
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n")
  rest = lines.pop() ?? ""
  let out = ""
  for (const line of lines) {
    const message = answer(JSON.parse(line))
    if (message !== undefined) out += `${message}\n`
  }
  if (out !== "") process.stdout.write(out)
})
