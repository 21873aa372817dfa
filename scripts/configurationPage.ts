/** Generates docs/configuration.md: prose from this file, and every key with its description from the Schema. */
import { serverTypes, typeNames } from "../src/domain/server/ServerConfig/serverTypes.js"
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

/** An example value for each key of an entry. */
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
  mcp_servers: { files: { command: "npx", args: ["-y", "some-server"] } },
  tools: { "github_*": false, github_search: true },
  agent: { reviewer: { tools: { "github_*": true } } },
  guard: false,
  permission: { "github_*": "ask" },
  maxServers: 2000,
  experimental: { mcp_timeout: 60_000 },
  "experimental.mcp_timeout": "1 minute"
}

/** Description of `type`: the key has different descriptions for local and remote servers. */
const types = () => {
  const names = (has: (type: (typeof serverTypes)[keyof typeof serverTypes]) => boolean) => {
    const quoted = typeNames.filter((name) => has(serverTypes[name])).map((name) => `"${name}"`)
    return [quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter((text) => text !== "").join(" or ")
  }
  return [
    `${names(({ kind }) => kind === "local")}: a process.`,
    `${names(({ transport }) => transport === "auto")}: streamable HTTP, then SSE if the server does not support it.`,
    `${names(({ kind, transport }) => kind === "remote" && transport !== "auto")}: only this transport.`
  ].join(" ")
}

/** Splits a description into its meaning and its default. */
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
      const [meaning, byDefault] = split(path === "type" ? types() : description)
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

/** Defaults that are not part of a description. */
const entryDefaults: Record<string, string> = {
  type: "derived from `command` or `url`",
  command: "required",
  url: "required",
  timeout: "30000 each, 30 minutes in total",
  restart: "see the next rows",
  health: "every 30000 ms",
  oauth: "automatic",
  disabled: "false",
  tools: "all",
  "oauth.clientId": "registered automatically",
  "oauth.scope": "the scopes that the server requests"
}

export const configurationPage = (): string => `# Configuration

<!-- Generated by \`npm run generate\` from scripts/configurationPage.ts and the Schema. Do not edit: a test fails when it is stale. -->

\`McpSupervisor.layerConfig\` runs the servers of your config files and applies changes of the files while it runs. The file format
accepts the server entries of opencode, Claude, Cursor, VS Code, Windsurf, Gemini CLI and Codex without changes.

\`\`\`ts
import { ConfigFiles, McpSupervisor } from "mcp-supervisor"

const supervised = McpSupervisor.layerConfig({ files: ["./servers.jsonc"] })

const loaded = ConfigFiles.load()                        // all layers merged; all problems with their positions
const why = ConfigFiles.explain()                        // layer and position of each value; secrets hidden
const added = ConfigFiles.add("wiki", { url: "https://wiki.example.com/mcp" })   // keeps your comments
const taken = ConfigFiles.importFrom("cursor")           // Cursor's servers, converted to entries
\`\`\`

## File format

A config file is JSON, JSONC (with comments and trailing commas, which \`.json\` files may contain as well) or TOML, in UTF-8. Servers
are declared under \`mcp\`, \`mcpServers\` or \`servers\` (also \`mcp_servers\`, as in Codex). All other keys of the file are ignored.

\`\`\`jsonc
{
  "$schema": "./node_modules/mcp-supervisor/schema/mcp-supervisor.schema.json",
  "mcp": {
    "files": { "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "./src"] },
    "wiki": { "url": "https://wiki.example.com/mcp", "headers": { "Authorization": "Bearer {env:WIKI_TOKEN}" } },
    "jira": { "enabled": false } // disables a server that a lower layer declares
  },
  "tools": { "files_write*": false }
}
\`\`\`

[examples/config](../examples/config/) contains more examples.

${table(
  document.map((key) => ({ ...key, of: "document" })),
  documentExamples,
  {}
)}

## Server entries

Both spellings are accepted everywhere: \`"command": ["node", "x.mjs"]\` and \`"command": "node", "args": ["x.mjs"]\`, \`environment\` and
\`env\`. A duration is a number of milliseconds or a text such as \`"30 seconds"\`. An unknown key causes a warning that names the
nearest known key. An invalid value affects only its own server: the server is \`failed\`, and the error contains file, line, column,
path, the expected value and the *type* of the value found. The value itself is never shown.

${table(entryKeys(), examples, entryDefaults)}

Spellings of other clients are accepted: \`httpUrl\`, \`serverUrl\`, \`disabled\`, \`includeTools\`, \`excludeTools\`, \`disabledTools\`,
\`bearer_token_env_var\`, \`http_headers\`, \`env_http_headers\`, \`env_vars\`, \`startup_timeout_sec\`, \`tool_timeout_sec\`,
\`enabled_tools\`, \`disabled_tools\`. Approvals of other clients (\`autoApprove\`, \`alwaysAllow\`, \`trust\`) are ignored. \`envFile\` and
\`headersHelper\` are not supported; a diagnostic reports them.

**Relative paths.** \`cwd\`, \`caFile\`, \`roots\` and \`{file:}\` are relative to the directory of the file that contains them; \`~/\` is the
home directory. A word of the command that begins with \`./\` or \`../\` is relative to the same directory, unless the entry sets \`cwd\`:
then it is relative to \`cwd\`. \`MCP_SUPERVISOR_CONFIG_CONTENT\` has no file: its paths are relative to the working directory of its
servers.

**Working directory.** The working directory of a local server without \`cwd\` depends on the layer that sets its \`command\`:

| layer | directory |
| --- | --- |
| \`project\` | the directory of the file, as a real path: a symbolic link to the file does not change it |
| \`projectDirectory\` | the directory that contains \`.mcp-supervisor\`, as a real path |
| \`file\` | the directory of the file |
| \`program\` | the option \`cwd\`, by default the working directory of the program |
| all others (your own layers) | the project's directory **if it is trusted**, otherwise your home directory |

The project's directory is the root of the repository, or the working directory outside of a repository. The working directory
affects what \`npx\`, \`python -m\`, \`npm run\` and similar programs execute, so a clone that you have not approved must not determine it
for your own servers. \`mcp-supervisor trust\` trusts the directory, \`list\` and \`status\` show which directory is used, and \`"cwd"\` sets
another one.

## Variables

| | |
| --- | --- |
| \`{env:NAME}\`, \`\${NAME}\`, \`\${env:NAME}\` | the environment variable |
| \`{env:NAME:-text}\`, \`\${NAME:-text}\` | the environment variable, or the text if the variable is not set or empty |
| \`{file:path}\` | the content of a file, without trailing line ends |
| \`\${workspaceFolder}\`, \`\${userHome}\`, \`\${pathSeparator}\` | as in editors; \`\${workspaceFolder}\` is explained below |
| \`$\${NAME}\` | the literal text \`\${NAME}\` |

Variables can be used in every text of every entry. They are replaced after the layers are merged: a value that a higher layer overrides
is not resolved. A variable that is empty or not set makes its server \`failed\`; it never becomes an empty text. Every replaced value
is a [secret](decisions/0006-scrubbing-by-value.md) and is hidden in all texts. The supervisor never runs a command to resolve a
variable.

\`\${workspaceFolder}\` in a project file is the working directory of its servers. In your own layers it is the project's directory if
that directory is trusted; otherwise the server is \`failed\` with a hint, because another directory could give the server access to
more files than intended. This also applies to \`--config\` files outside of the project; in a \`--config\` file inside the project,
\`\${workspaceFolder}\` is the project's directory.

Variables and files may add at most 1 MiB (2^20 characters) to one value, 4 MiB to one entry and 16 MiB to all config files together.
A file referenced by \`{file:}\` may have at most 1 MiB, all of them together 16 MiB. If a limit is exceeded, the server is \`failed\`, and
the error contains the path and the limit.

## Layers

The table lists the layers from the lowest to the highest. Each file may be \`.json\`, \`.jsonc\` or \`.toml\`.

| layer | source |
| --- | --- |
| \`program\` | the options \`servers\`, \`defaults\`, \`tools\` and \`agents\`; variables in them are not replaced |
| \`organisation\` | the document at \`MCP_SUPERVISOR_DEFAULTS_URL\` (without a path: \`/.well-known/mcp-supervisor\`), https only |
| \`global\` | \`$XDG_CONFIG_HOME/mcp-supervisor/config.*\`, by default \`~/.config/…\`; \`%APPDATA%\` on Windows |
| \`environment\` | the file named by \`MCP_SUPERVISOR_CONFIG\` |
| \`project\` | \`mcp-supervisor.*\` in each directory from the root of the repository to the working directory; without a repository, in the working directory only |
| \`projectDirectory\` | \`.mcp-supervisor/config.*\` in the same directories |
| \`file\` | the option \`files\`, \`--config\` on the command line |
| \`inline\` | \`MCP_SUPERVISOR_CONFIG_CONTENT\`, which contains the document itself |
| \`managed\` | \`/etc/mcp-supervisor/config.json\`, \`%ProgramData%\` on Windows |

Entries with the same name are merged key by key, including nested objects. Arrays and all other values are replaced. If a layer sets
\`url\` and a lower layer sets \`command\`, or the reverse, the entry changes its kind, and keys of the other kind are dropped.
\`tools\` patterns of a higher layer are applied after those of lower layers, and the last match wins.

Two exceptions protect your approvals and secrets. A diagnostic reports each use of them.

- **Your own values stay yours.** If an approved project file sets \`url\` or \`command\` of a server that your own lower layers also
  declare, the server belongs to the project: \`headers\`, \`oauth\`, \`environment\`, \`args\`, \`cwd\`, \`inheritEnv\`, \`secrets\`, \`roots\`, \`caFile\`
  and \`privateNetwork\` of your entry are not used (\`own_values_withheld\`). If the file sets only \`args\`, your environment variables are
  not used; if it sets only \`oauth\`, your \`oauth\` is not used. All other settings (\`enabled\`, \`timeout\`, \`tools\`, …) are still merged. To
  give your values to the project's server, set them in a layer above the project, such as a \`--config\` file.
- **Project files of different directories stay apart.** If project files of several directories of a repository declare the same
  server, only one directory defines what the server runs and which values it gets: the directory of the highest of these files. Files
  of other directories can only enable, disable and tune the server; their other values are left out (\`other_directory\`).

A file that is named explicitly must exist. If one of your own files cannot be parsed, the supervisor does not start; while it runs, it
keeps the last valid configuration, and \`ConfigRejected\` gives the reason. A project file that cannot be parsed is reported and left
out; while the supervisor runs, the last valid content of the file stays in use.

The organisation's document is fetched in the background, stored in the state directory, and applied as soon as it is fetched; no
supervisor waits for it when it starts. A command without a running supervisor fetches the document if there is no stored copy, waits at
most two seconds, and reports why it is missing. The document can declare remote servers. Entries that start a program or use variables
or files are left out.

## Trust

Project files are part of the project and may come from others. Until you approve them, their servers are \`disabled\` with the reason
\`trust\`: they are not started, not contacted, and none of their variables is resolved. They do not change your own servers, and their
\`tools\`, \`agent\`, \`permission\`, \`maxServers\` and \`experimental\` are ignored. At most 200 servers that are not approved are
shown, of all project files together and regardless of \`maxServers\`; one diagnostic per file reports the rest. Approved servers are
never left out in favour of them. All project files together may have at most 8 MiB; files beyond that are left out and reported.

\`mcp-supervisor trust\` shows each entry (command line, URL, variables, working directory) and what changed since the last approval,
then asks for approval. \`--yes\` skips the question and is required without a terminal. In a program, \`ConfigFiles.review()\` returns
what would be approved, and \`ConfigFiles.trust()\` approves it.

- Variables and files are always shown as they are referenced, even next to hidden text: \`[redacted]{env:TOKEN}\`.
- Command lines, hosts, paths, and variables that affect what runs (\`PATH\`, \`NODE_OPTIONS\`, \`GIT_…\`, \`…_COMMAND\` and similar)
  are shown in full. In all other variables, in headers and in URLs, possible secrets are hidden.
- No part is omitted. A file with an entry of more than 500 values is refused.

An approval covers one entry with its current text, the real path of its file, and the real directory in which its server runs: if
\`cwd\` becomes a symbolic link, a new approval is required. If an entry changes, only that server needs a new approval. A copy of the
project, or the project at another path, needs its own approvals. A project file that is a symbolic link to a target outside of the
project is left out (\`link_outside\`), even if the target is approved elsewhere.

\`add\` approves the server it writes. \`enable\` and \`disable\` do not change an approval. The command \`enable\` shows a server that
is not approved and asks for approval; without a terminal it fails with exit code 3 and refers to \`trust\`. In a program,
\`ConfigFiles.reviewServer()\` returns what would be approved for one server. Servers of project files whose names contain control or
invisible characters are left out with a diagnostic, and \`trust\` refuses such a file.

\`trust\` also trusts the project's directory: your own servers without \`cwd\` then run there. This also works if the project has no
project file. \`trust mcp-supervisor.json\` approves only that file. With \`--revoke\`, both forms revoke what they would approve.
Approvals are stored in \`trust.json\` of the state directory as keyed hashes. The text of an entry is not stored, so a review shows
which parts changed, but not their previous values.

## Editing

\`ConfigFiles.add\`, \`remove\`, \`enable\` and \`disable\` change only the necessary text: comments, order, indentation, line ends and
a byte order mark are kept, and removing an added server restores the original bytes. The changed text is parsed before it is written.
If it differs in more than the requested change, nothing is written, and the call fails with \`EditRefused\`. Writes are atomic,
serialised across processes, keep file permissions and follow symbolic links. The previous content is saved in \`backups/\` of the state
directory, with mode \`0600\`.

A new server is written to the project file if there is one, otherwise to the global file (\`scope\` or \`file\` select another one).
\`mcp-supervisor add\` makes relative paths of the command line absolute if they exist: words that are \`.\` or \`..\`, or that contain a
slash or have a file extension, also in \`--option=PATH\`. In a project file they stay relative to the working directory of the server.

## Automatic reload

The supervisor watches directories, so it notices replaced, deleted and new files, symbolic links and mounted configurations. Changes
within 60 ms are applied together. Only the content counts: saving a file without a change restarts nothing. Files referenced by
\`{file:}\` and approvals are watched as well. Before it restarts a server, \`restart\` reads all files again, even if no change was
noticed.

## Import

\`ConfigFiles.importFrom(client)\` finds the files of \`opencode\`, \`claude-desktop\`, \`claude-code\`, \`cursor\`, \`vscode\`,
\`windsurf\`, \`gemini\` and \`codex\` on Linux, macOS and Windows. It returns the servers that can be added, and those that are
skipped, with the reason. It writes nothing; \`ConfigFiles.addImported\` writes one server.
`
