import { writeFileSync } from "node:fs"
import { generated } from "./generated.js"

for (const [file, make] of Object.entries(generated)) {
  writeFileSync(new URL(`../${file}`, import.meta.url), make())
  console.log(`wrote ${file}`)
}
