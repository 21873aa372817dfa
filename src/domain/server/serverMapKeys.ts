/**
 * Lists the keys of a config file that hold servers.
 */

/** The keys that hold servers, with the highest precedence first: ours, those of JSON clients, and that of Codex. */
export const serverMapKeys = ["mcp", "mcpServers", "servers", "mcp_servers"] as const

export type ServerMapKey = (typeof serverMapKeys)[number]
