/**
 * All errors of the supervisor. Each has structured data and a message that says what to do next.
 *
 * @since 0.1.0
 */
export * from "./Errors/callErrors.js"
export * from "./Errors/commandErrors.js"
export * from "./Errors/connectionErrors.js"
