/**
 * Keeps MCP servers alive, tells the truth about each of them, and offers all their tools as one catalog.
 *
 * @since 0.1.0
 */
export * as Catalog from "./domain/Catalog.js"
export * as CatalogStore from "./supervision/CatalogStore.js"
export * as ConfigDocument from "./domain/ConfigDocument.js"
export * as Connector from "./connection/Connector.js"
export * as Content from "./domain/Content.js"
export * as Diagnostic from "./domain/Diagnostic.js"
export * as Errors from "./domain/Errors.js"
export * as Failure from "./domain/Failure.js"
export * as Issue from "./domain/Issue.js"
export * as Lifecycle from "./domain/Lifecycle.js"
export * as Listing from "./domain/Listing.js"
export * as McpSupervisor from "./McpSupervisor.js"
export * as Plan from "./domain/Plan.js"
export * as Protocol from "./domain/Protocol.js"
export * as RestartPolicy from "./domain/RestartPolicy.js"
export * as Secrets from "./domain/Secrets.js"
export * as ServerConfig from "./domain/ServerConfig.js"
export * as ServerEvent from "./domain/ServerEvent.js"
export * as ServerSnapshot from "./domain/ServerSnapshot.js"
export * as ServerStatus from "./domain/ServerStatus.js"
export * as Session from "./connection/Session.js"
export * as ToolName from "./domain/ToolName.js"
