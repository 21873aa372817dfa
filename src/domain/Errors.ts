/**
 * The closed set of errors. Each is data first, with a message that says what to do next.
 *
 * @since 0.1.0
 */
export * from "./Errors/callErrors.js"
export * from "./Errors/commandErrors.js"
export * from "./Errors/connectionErrors.js"
