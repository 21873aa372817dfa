/**
 * For tests of programs that use MCP servers: a {@link FakeConnector} that needs no process, no socket and no real time, and
 * {@link ScriptedServer}s that are real and do what no good server would do. A {@link Simulation} runs a whole program without
 * real time, in an order that a seed decides.
 *
 * @since 0.1.0
 */
export * as FakeConnector from "./FakeConnector.js"
export * as ScriptedServer from "./ScriptedServer.js"
export * as Simulation from "./Simulation.js"
