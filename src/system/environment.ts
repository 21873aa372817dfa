/**
 * Names the environment variables of the program, and reads them from a given environment.
 */

export const variables = {
  /** The path of a config file that needs no approval. */
  config: "MCP_SUPERVISOR_CONFIG",
  /** The text of a config document. */
  configContent: "MCP_SUPERVISOR_CONFIG_CONTENT",
  /** The URL of the organisation's config document. */
  defaultsUrl: "MCP_SUPERVISOR_DEFAULTS_URL",
  /** The path of the administrator's config file, instead of the platform's path for it. */
  managedConfig: "MCP_SUPERVISOR_MANAGED_CONFIG",
  /** The state directory, an absolute path. */
  stateDir: "MCP_SUPERVISOR_STATE_DIR",
  /** The user's own token for the control API. */
  token: "MCP_SUPERVISOR_TOKEN",
  /** The lowest level that the command line logs. */
  log: "MCP_SUPERVISOR_LOG",
  /**
   * The mark of all processes of one run of the supervisor. Descendants inherit it, so that leftover processes are recognised
   * after a crash of the supervisor.
   */
  run: "MCP_SUPERVISOR_RUN",
  /** Distinguishes the servers of one run: each start has its own number. */
  child: "MCP_SUPERVISOR_CHILD",
  /** The pid of the process that a guard process guards. Set for guards only: a process with a guard is a supervisor. */
  guard: "MCP_SUPERVISOR_GUARD"
} as const

export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a variable. A variable with an empty value counts as not set. */
export const read = (env: Environment, name: keyof typeof variables): string | undefined =>
  env[variables[name]] || undefined
