/**
 * Test support for programs that use MCP servers.
 *
 * A {@link FakeConnector} needs no process, no socket and no real time. {@link ScriptedServer}s are real servers that can
 * violate the protocol on purpose. A {@link Simulation} runs a whole program in virtual time, in an order that a seed decides.
 *
 * @since 0.1.0
 */
export * as FakeConnector from "./FakeConnector.js"
export * as ScriptedServer from "./ScriptedServer.js"
export * as Simulation from "./Simulation.js"
