/** docs/cli.md, from the commands themselves. */
import { optionLabel, optionSummary, usageOf } from "../src/cli/help.js"
import { type Argument, type Option, type Spec, shared } from "../src/cli/spec.js"
import { specs } from "../src/cli/specs.js"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const optionRows = (options: Readonly<Record<string, Option>>): ReadonlyArray<string> =>
  Object.entries(options).map(
    ([key, option]) => `| \`${cell(optionLabel(key, option))}\` | ${cell(optionSummary(option))} |`
  )

const argumentRow = ({ choices, summary, value }: Argument): string =>
  `| \`<${value}>\` | ${cell(choices === undefined ? summary : `${summary}: ${choices.join(", ")}`)} |`

const section = (spec: Spec): string => {
  const rows = [...Object.values(spec.arguments).map(argumentRow), ...optionRows(spec.options)]
  return [
    `### ${spec.name}`,
    `${spec.summary}. ${spec.details ?? ""}`.trim(),
    `\`\`\`sh\n${spec.examples.map((example) => `mcp-supervisor ${example}`).join("\n")}\n\`\`\``,
    ...(rows.length === 0 ? [] : [["| | |", "| --- | --- |", ...rows].join("\n")])
  ].join("\n\n")
}

export const cliPage = (): string => `# The command line

<!-- Made by \`npm run generate\` from src/cli. Do not edit: a test fails when it is stale. -->

\`mcp-supervisor\` looks after any number of MCP servers: it configures them, runs them, asks them and says how they are.
\`mcp-supervisor --help\` and \`mcp-supervisor <command> --help\` say the same as this page.

| Command | Does |
| --- | --- |
${specs.map((spec) => `| [\`${cell(usageOf(spec, false))}\`](#${spec.name}) | ${cell(spec.summary)} |`).join("\n")}

## Who answers

One supervisor runs for a state directory: \`serve\` in the foreground, \`start\` in the background. If it serves the same config
files as the command would, the command talks to it. If not, or with \`--standalone\`, the command runs a supervisor of its own
for as long as it takes, with only the servers it is about; when a running one was passed over, it says so on stderr.

One that is about to end is passed over, too; \`start\` waits until it is gone. One that does not answer within five seconds, because
it is suspended, say, is a failure (1) that names its process. What is sent to a running one has at most 4 MiB.

\`connect\`, \`disconnect\`, \`restart\` and \`reload\` make sense with a running supervisor only. Without one they end with 1 and say
how to start it; \`--standalone\` is wrong usage (2) there.

## What comes out

Data goes to stdout, everything else to stderr. \`--json\` is exact and complete, on one line where nobody watches;
\`list --json\` and \`status --json\` are the body of \`GET /mcp\` ([HTTP API](http-api.md)), \`logs --json\` and \`events --json\` are one
object per line. Colours, spinners and live tables appear on a terminal only, and \`NO_COLOR\` is honoured. Tables are cut to the
width of the terminal and never into a pipe. A reader that stops reading (\`| head -1\`) is no failure; a full disk is.

| Exit code | Means |
| ---: | --- |
| 0 | done |
| 1 | failed; also a tool that reports an error |
| 2 | wrong usage, arguments that do not fit a tool, or a config that cannot be used |
| 3 | a server that was named is unknown or not usable: \`status NAME\`, \`test NAME\`, \`connect NAME\`, \`call\`, … |
| 129, 130, 143 | ended by SIGHUP, SIGINT, SIGTERM |

The first of these signals ends everything in order, within five seconds, and says what is waited for; the second kills what is
left of the servers at once.

## Options of every command

| | |
| --- | --- |
${optionRows(shared).join("\n")}

They may stand before or after the command. Options take their value as the next word or after \`=\`; what follows \`--\` is left
as it is. A word that is not understood is an error, never a value for something else.

| Variable | Means |
| --- | --- |
| \`MCP_SUPERVISOR_STATE_DIR\` | the state directory, where \`--state-dir\` is not given; an absolute path, a relative one is ignored with a warning |
| \`MCP_SUPERVISOR_TOKEN\` | a token of your own for the control API; needed for \`serve --host\` beyond this machine |
| \`MCP_SUPERVISOR_LOG\` | how much the program logs about itself on stderr: \`debug\`, \`info\`, \`warning\`; default \`error\` |
| \`NO_COLOR\` | no colours |

Those that say where configuration comes from are on [the page about it](configuration.md).

## Commands

${specs.map(section).join("\n\n")}
`
