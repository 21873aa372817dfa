/** The page about config files: words by hand, and every key as the Schema has it. */
import { ConfigDocument } from "../src/index.js"

interface Node {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly anyOf?: ReadonlyArray<Node>
  readonly allOf?: ReadonlyArray<Node>
}

interface Root extends Node {
  readonly $defs: Readonly<Record<string, Node>>
}

export interface Key {
  readonly path: string
  readonly description: string
}

/** The keys of an object, each followed by the keys of what it may hold. */
const keysOf = (node: Node, prefix = ""): ReadonlyArray<Key> =>
  Object.entries(node.properties ?? {}).flatMap(([name, value]) => [
    { path: `${prefix}${name}`, description: value.description ?? "" },
    ...[value, ...(value.anyOf ?? []), ...(value.allOf ?? [])].flatMap((each) => keysOf(each, `${prefix}${name}.`))
  ])

const schema = ConfigDocument.jsonSchema() as Root

export const local = keysOf(schema.$defs.LocalServer!)
export const remote = keysOf(schema.$defs.RemoteServer!)
export const document = keysOf(schema)

/** A value for each key of an entry, as somebody would write it. */
export const examples: Readonly<Record<string, unknown>> = {
  type: "local",
  command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "./src"],
  args: ["-y", "some-server"],
  environment: { API_KEY: "{env:API_KEY}" },
  env: { API_KEY: "${API_KEY}" },
  cwd: "./packages/app",
  url: "https://mcp.example.com/mcp",
  headers: { Authorization: "Bearer {env:TOKEN}" },
  caFile: "certs/ca.pem",
  privateNetwork: true,
  enabled: false,
  disabled: true,
  required: true,
  lazy: true,
  exclusive: true,
  inheritEnv: true,
  protocol: "legacy",
  replace: "stop-first",
  concurrency: 4,
  idleStop: "10 minutes",
  catalogTtl: "1 hour",
  listBudget: 1048576,
  tools: { "write_*": false },
  roots: ["./src"],
  secrets: ["{file:~/.token}"],
  timeout: 60_000,
  "timeout.connect": "1 minute",
  "timeout.list": 10_000,
  "timeout.call": "2 minutes",
  "timeout.total": "1 hour",
  restart: { maxRestarts: "none" },
  "restart.base": 1000,
  "restart.factor": 1.5,
  "restart.cap": "5 minutes",
  "restart.stableAfter": "2 minutes",
  "restart.maxRestarts": 10,
  "restart.window": "5 minutes",
  "restart.cooldown": "10 minutes",
  health: false,
  "health.interval": "1 minute",
  "health.timeout": 2000,
  oauth: false,
  "oauth.clientId": "{env:CLIENT_ID}",
  "oauth.clientSecret": "{env:CLIENT_SECRET}",
  "oauth.scope": "read write",
  "oauth.redirectUri": "http://127.0.0.1:8123/callback",
  "oauth.callbackPort": 8123,
  "oauth.clientMetadataUrl": "https://example.com/client.json",
  "oauth.authorizationUrl": "https://auth.example.com/authorize",
  "oauth.tokenUrl": "https://auth.example.com/token",
  "oauth.issuer": "https://auth.example.com",
  "oauth.assumePkce": true,
  "oauth.grant": "client_credentials",
  "oauth.privateKeyPem": "{file:key.pem}",
  "oauth.alg": "ES256"
}

const documentExamples: Readonly<Record<string, unknown>> = {
  $schema: "./node_modules/mcp-supervisor/schema/mcp-supervisor.schema.json",
  mcp: { files: { command: ["npx", "-y", "some-server"] } },
  mcpServers: { files: { command: "npx", args: ["-y", "some-server"] } },
  servers: { wiki: { type: "http", url: "https://wiki.example.com/mcp" } },
  tools: { "github_*": false, github_search: true },
  agent: { reviewer: { tools: { "github_*": true } } },
  guard: false,
  permission: { "github_*": "ask" },
  maxServers: 2000,
  experimental: { mcp_timeout: 60_000 },
  "experimental.mcp_timeout": "1 minute"
}

/** The two kinds have one key with different words for it. */
const types =
  '"local", "stdio": a process. "remote": over HTTP, with SSE where the server has nothing newer; "http", "streamable-http", "sse": that and nothing else.'

/** What a description says besides the default, and the default. */
const split = (description: string): readonly [meaning: string, byDefault: string] => {
  const [, meaning = description, byDefault = ""] = /^(.*?)\s*Default:? (.*?)\.?$/s.exec(description) ?? []
  return [meaning, byDefault]
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;")

const table = (
  keys: ReadonlyArray<Key & { readonly of: string }>,
  of: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, string>>
) => {
  const missing = keys.filter(({ path }) => !(path in of)).map(({ path }) => path)
  const unknown = Object.keys(of).filter((path) => !keys.some((key) => key.path === path))
  if (missing.length + unknown.length > 0) throw new Error(`no example for ${missing}; examples of nothing: ${unknown}`)
  return [
    "| key | of | meaning | default | example |",
    "| --- | --- | --- | --- | --- |",
    ...keys.map(({ description, of: kind, path }) => {
      const [meaning, byDefault] = split(path === "type" ? types : description)
      const fallback = defaults[path] ?? "none"
      return `| \`${path}\` | ${kind} | ${cell(meaning)} | ${cell(byDefault || fallback)} | \`${cell(JSON.stringify(of[path]))}\` |`
    })
  ].join("\n")
}

const entryKeys = () => {
  const isIn = (keys: ReadonlyArray<Key>, path: string) => keys.some((key) => key.path === path)
  const all = [...local, ...remote.filter(({ path }) => !isIn(local, path))]
  return all.map((key) => ({
    ...key,
    of: isIn(local, key.path) ? (isIn(remote, key.path) ? "both" : "local") : "remote"
  }))
}

/** Defaults that a description has no need to say. */
const entryDefaults: Record<string, string> = {
  type: "by `command` or `url`",
  command: "has to be there",
  url: "has to be there",
  timeout: "30000 each, 30 minutes in all",
  restart: "see below",
  health: "every 30000",
  oauth: "automatic",
  disabled: "false",
  tools: "all",
  "oauth.clientId": "registered automatically",
  "oauth.scope": "what the server asks for"
}

export const configurationPage = (): string => `# Configuration

<!-- Made by \`npm run generate\` from scripts/configurationPage.ts and the Schema. Do not edit: a test fails when it is stale. -->

\`McpSupervisor.layerConfig\` runs the servers of your config files and follows the files while they change. You need not
write one: every file of opencode, Claude, Cursor, VS Code, Windsurf, Gemini CLI and Codex works as it is.

\`\`\`ts
import { ConfigFiles, McpSupervisor } from "mcp-supervisor"

const supervised = McpSupervisor.layerConfig({ files: ["./servers.jsonc"] })

const loaded = ConfigFiles.load()                        // all layers as one, with what is wrong and where
const why = ConfigFiles.explain()                        // for each value, the layer and place it comes from; secrets hidden
const added = ConfigFiles.add("wiki", { url: "https://wiki.example.com/mcp" })   // keeps your comments
const taken = ConfigFiles.importFrom("cursor")           // what Cursor has, as entries of ours
\`\`\`

## A file

JSON, JSONC (comments, commas at the end; files called \`.json\` may have them as well) or TOML, in UTF-8. Servers stand under
\`mcp\`, \`mcpServers\` or \`servers\` (also \`mcp_servers\`, as Codex has it). Whatever else a host keeps in the file is none of our
business.

\`\`\`jsonc
{
  "$schema": "./node_modules/mcp-supervisor/schema/mcp-supervisor.schema.json",
  "mcp": {
    "files": { "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "./src"] },
    "wiki": { "url": "https://wiki.example.com/mcp", "headers": { "Authorization": "Bearer {env:WIKI_TOKEN}" } },
    "jira": { "enabled": false } // only switches what a lower layer declares
  },
  "tools": { "files_write*": false }
}
\`\`\`

More in [examples/config](../examples/config/).

${table(
  document.map((key) => ({ ...key, of: "document" })),
  documentExamples,
  {}
)}

## A server

Both spellings work everywhere: \`"command": ["node", "x.mjs"]\` and \`"command": "node", "args": ["x.mjs"]\`, \`environment\` and
\`env\`. Durations are milliseconds or texts such as \`"30 seconds"\`. A key that is not known is a warning with the nearest known
one. A wrong value costs its own server only: it is \`failed\`, with file, line, column, path, what is expected and the *type* of
what was found. The value itself is never shown.

${table(entryKeys(), examples, entryDefaults)}

Spellings of other clients are understood: \`httpUrl\`, \`serverUrl\`, \`disabled\`, \`includeTools\`, \`excludeTools\`, \`disabledTools\`,
\`bearer_token_env_var\`, \`http_headers\`, \`env_http_headers\`, \`env_vars\`, \`startup_timeout_sec\`, \`tool_timeout_sec\`,
\`enabled_tools\`, \`disabled_tools\`. Their approvals (\`autoApprove\`, \`alwaysAllow\`, \`trust\`) are not taken over; \`envFile\` and
\`headersHelper\` are not followed, and that is said.

**Relative paths.** \`cwd\`, \`caFile\`, \`roots\` and \`{file:}\` are seen from the directory of the file that says them; \`~/\` is the
home. So is a word of the command that begins with \`./\` or \`../\`, unless the entry has a \`cwd\`: then the program finds it from
there. \`MCP_SUPERVISOR_CONFIG_CONTENT\` has no file: its paths are seen from the directory its servers run in.

**Working directory.** A local server without \`cwd\` runs in a directory that depends on the layer that sets its \`command\`:

| layer | directory |
| --- | --- |
| \`project\` | the directory of the file, as a real path: a link to the file does not change it |
| \`projectDirectory\` | the directory that holds \`.mcp-supervisor\`, as a real path |
| \`file\` | the directory of the file |
| \`program\` | \`cwd\` of the options, which defaults to the working directory of the program |
| all others (your own layers) | the project's directory **if it is trusted**, otherwise your home |

The project's directory is the root of the repository, or the working directory outside of one. The working directory decides
what \`npx\`, \`python -m\`, \`npm run\` and the like execute: a clone that you have not approved must not choose that for your own
servers. \`mcp-supervisor trust\` trusts the directory, \`list\` and \`status\` say which directory is used, and \`"cwd"\` sets another.

## Variables

| | |
| --- | --- |
| \`{env:NAME}\`, \`\${NAME}\`, \`\${env:NAME}\` | the environment variable |
| \`{env:NAME:-text}\`, \`\${NAME:-text}\` | the same, or the text if it is not set or empty |
| \`{file:path}\` | the content of a file, without line ends at its end |
| \`\${workspaceFolder}\`, \`\${userHome}\`, \`\${pathSeparator}\` | what editors mean by them; see below for the first |
| \`$\${NAME}\` | the text \`\${NAME}\` |

They work in every text of every entry, once layers are merged: what a higher layer replaces asks for nothing. A variable
that is not set, or empty, is an error of that server, never an empty text. Whatever was put in is a
[secret](decisions/0006-scrubbing-by-value.md) from then on, in whichever text it turns up. No command is ever run.

\`\${workspaceFolder}\` in a project's file is the directory its servers run in. In your own layers it is the project's directory if
that is trusted; otherwise the server is \`failed\` with a hint, because any other directory in its place could give the server more
than you meant. The same holds for \`--config\` files outside of the project; in one that lies in the project, it is the project's directory.

Variables and files may add 1 MiB (2^20 characters) to one value, 4 MiB to one entry and 16 MiB to all config files together.
A file that \`{file:}\` names may have 1 MiB, all of them together 16 MiB. More is an error of that server, with its path and the
limit.

## Layers

From the lowest to the highest; each file may be \`.json\`, \`.jsonc\` or \`.toml\`.

| layer | where |
| --- | --- |
| \`program\` | \`servers\`, \`defaults\`, \`tools\`, \`agents\` of the options, taken literally |
| \`organisation\` | the document at \`MCP_SUPERVISOR_DEFAULTS_URL\` (without a path: \`/.well-known/mcp-supervisor\`), https only |
| \`global\` | \`$XDG_CONFIG_HOME/mcp-supervisor/config.*\`, else \`~/.config/…\`; \`%APPDATA%\` on Windows |
| \`environment\` | the file that \`MCP_SUPERVISOR_CONFIG\` names |
| \`project\` | \`mcp-supervisor.*\`, from the root of the repository down to the working directory; without a repository, there only |
| \`projectDirectory\` | \`.mcp-supervisor/config.*\`, likewise |
| \`file\` | \`files\` of the options, \`--config\` on the command line |
| \`inline\` | \`MCP_SUPERVISOR_CONFIG_CONTENT\`, the document itself |
| \`managed\` | \`/etc/mcp-supervisor/config.json\`, \`%ProgramData%\` on Windows |

Entries of the same name are merged key by key, objects within them too; arrays and everything else are replaced. A layer that
says \`url\` where one below says \`command\` makes it another server: what belongs to the other kind is left out. Patterns of a
higher layer come after those below, and the last match wins.

Two exceptions keep approvals and secrets apart. Both are reported as diagnostics.

- **Your own values stay yours.** If an approved project file sets \`url\` or \`command\` of a server that your own layers below it also
  declare, it is the project's server: \`headers\`, \`oauth\`, \`environment\`, \`args\`, \`cwd\`, \`inheritEnv\`, \`secrets\`, \`roots\`, \`caFile\` and
  \`privateNetwork\` of your entry are not used (\`own_values_withheld\`). If it sets only \`args\`, your variables are not used; if it sets
  only \`oauth\`, your \`oauth\` is not. How the server is treated (\`enabled\`, \`timeout\`, \`tools\`, …) still merges. To give your
  values to the project's server, set them in a layer above the project, such as a \`--config\` file.
- **Project files of different directories stay apart.** Of a repository and its subdirectories, one directory says what a
  server is and what it is given: the one of the highest file that does. Files of other directories can switch and treat that
  server; the rest of what they say of it is left out (\`other_directory\`).

A file that somebody named has to be there. A file of your own that cannot be read as a document stops the start; while running,
what runs goes on and \`ConfigRejected\` says why. A project's file that cannot be read is left out and reported.

The organisation's document is fetched in the background, kept in the state directory and used from the next moment on; the
start of a supervisor never waits for it. A command that runs without a supervisor fetches it if there is no copy yet, waits two
seconds at most, and says why it is missing. It may point to servers. Entries that would start a program, or that use variables or files, are left
out.

## Trust

A project's files came with the project. Until you approve of them, their servers are \`disabled\` by \`trust\`: nothing of
them is started, dialled or put in, they change no server of yours, and the file's \`tools\`, \`agent\`, \`permission\`,
\`maxServers\` and \`experimental\` are left out. At most 200 servers are shown while they are not approved, of all project files
together and whatever \`maxServers\` says; the rest is one diagnostic for each file. Servers you approved of never make room for
them. All project files together may have 8 MiB; files beyond that are left out and reported.

\`mcp-supervisor trust\` shows each entry (command line, URL, variables, working directory) and what changed since the last
approval, then asks; \`--yes\` skips the question and is needed where there is no terminal. \`ConfigFiles.review()\` is what is shown,
\`ConfigFiles.trust()\` approves it.

- Variables and files that are put in are always named, whatever stands beside them: \`[redacted]{env:TOKEN}\`.
- Command lines, hosts, paths, and variables that decide what runs (\`PATH\`, \`NODE_OPTIONS\`, \`GIT_…\`, \`…_COMMAND\` and the like) are
  shown in full. Of other variables, headers and addresses, what may be a secret is hidden.
- No part is left out. A file with an entry of more than 500 values is refused: make it shorter.

An approval is for one server as it is written now, in that real file, and for the real directory it runs in: a \`cwd\` that becomes
a link needs a new approval. A server whose entry changes has to be approved again; the others stay. A copy of the project, or
the project at another path, needs approvals of its own. A project file that is a link out of the project is left out
(\`link_outside\`), approved elsewhere or not.

What \`add\` writes is approved by that. \`enable\` and \`disable\` leave an approval as it is. The command \`enable\` shows a
server that is not approved and asks; without a terminal it ends with code 3 and points to \`trust\`. In a program,
\`ConfigFiles.reviewServer()\` gives what would be approved for one server. Servers whose names have control or invisible
characters are left out of project files with a diagnostic, and \`trust\` refuses such a file.

\`trust\` also trusts the project's directory: your own servers without \`cwd\` run there from then on. It works without a project
file. With a file (\`trust mcp-supervisor.json\`), only that file is approved. \`--revoke\` takes back the same.
Approvals are kept in \`trust.json\` of the state directory as hashes with a key of their own. No text of an entry is kept, so a
review says which parts changed, not what they were.

## Editing

\`ConfigFiles.add\`, \`remove\`, \`enable\` and \`disable\` change what they must: comments, order, indentation, line ends and a byte order
mark stay, and removing what was added gives back the bytes. The file is read again after the change, in memory, and if it says
anything else than before besides what was wished, nothing is written and \`EditRefused\` says so. Writing is atomic, one at a
time across processes, keeps permissions, follows links, and leaves a copy of what was there in \`backups/\` of the state
directory, with mode \`0600\`.

A new server goes into the project's file if there is one, else into the global one (\`scope\` or \`file\` say otherwise).
\`mcp-supervisor add\` makes relative paths of the command line absolute if they exist: words that are \`.\` or \`..\`, or that have a
slash or a file extension, also in \`--option=PATH\`. In a project's file they stay relative, seen from the directory the server runs in.

## Following

Directories are watched, so replaced files, deleted and new ones, links and mounted configurations are noticed; changes
within 60 ms are one. What counts is the content: a save without a change restarts nothing. Files that \`{file:}\` names and
approvals are followed, too. \`restart\` reads everything again first, watched or not.

## Taking over

\`ConfigFiles.importFrom(client)\` finds the files of \`opencode\`, \`claude-desktop\`, \`claude-code\`, \`cursor\`, \`vscode\`, \`windsurf\`,
\`gemini\` and \`codex\` on Linux, macOS and Windows, and says what it would add, skip, and why. It writes nothing; \`add\` does.
`
