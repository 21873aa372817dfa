/** The files of this repository that are made from its code. */
import { ConfigDocument } from "../src/index.js"
import { cliPage } from "./cliPage.js"
import { configurationPage } from "./configurationPage.js"
import { lifecycleDiagram } from "./lifecycleDiagram.js"
import { reliabilityPage } from "./reliability.js"

const lifecyclePage = () => `# The life of a server

<!-- Made by \`npm run generate\` from src/domain/Lifecycle.ts. Do not edit: a test fails when it is stale. -->

One pure function, \`step(state, event)\`, decides what becomes of a server and what is to be done. The diagram below was
drawn by running it: every kind of event in every kind of state. Arrows from a state to itself are left out, and so are the
links that close and drain in the background.

\`\`\`mermaid
${lifecycleDiagram()}
\`\`\`

How to read it:

- **connecting** covers an attempt under way, and the short wait until the old link is gone: nothing opens while something
  closes. The first failure of a streak is answered by an attempt at once, hence no arrow for it.
- **connected, being replaced** is \`connected\` to the outside: the old link serves while a link with the new config is
  sought. A change of address, headers or login takes the old link out at once and goes to **connecting** instead.
- A shortage on our own side (no free file descriptor, process or memory) is no failure of the server: it counts neither as a
  failure nor as a restart, and the attempt is repeated after 1 to 16 s until it can be made.
- **failed, gave up for now** is left once per cooldown, for a single try.
- What is not trusted stays **disabled**, whatever the command.
`

export const generated: Record<string, () => string> = {
  "schema/mcp-supervisor.schema.json": () => `${JSON.stringify(ConfigDocument.jsonSchema(), null, 2)}\n`,
  "docs/lifecycle.md": lifecyclePage,
  "docs/configuration.md": configurationPage,
  "docs/cli.md": cliPage,
  "docs/reliability.md": reliabilityPage
}
