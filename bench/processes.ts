/**
 * Starts the contenders and servers, and ends them.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Child, start } from "./child.js"
import { dist } from "./options.js"

/** The contenders: our sessions alone, our supervisor, and the SDK's client. */
export type Contender = "ours" | "supervised" | "sdk"

/** The server that a contender connects to. */
export type Target = { readonly command: string; readonly args: ReadonlyArray<string> } | { readonly url: string }

const children = new Set<Child>()

/** The parent of all state directories. */
const stateDir = mkdtempSync(join(tmpdir(), "mcp-supervisor-bench-"))
process.on("exit", () => rmSync(stateDir, { recursive: true, force: true }))

const started = async (...parameters: Parameters<typeof start>): Promise<Child> => {
  const child = await start(...parameters)
  children.add(child)
  return child
}

export const ended = async (child: Child): Promise<void> => {
  children.delete(child)
  await child.end()
}

export const endAll = async (): Promise<void> => {
  await Promise.all([...children].map(ended))
}

export const startContender = (name: Contender, nodeOptions: ReadonlyArray<string> = []): Promise<Child> =>
  started("contenders/process.mjs", [name, dist, stateDir], nodeOptions)

/** Closes everything that a contender opened, and ends it. */
export const retire = async (contender: Child): Promise<void> => {
  await contender.ask("end")
  await ended(contender)
}

/** Starts a contender for one answer, and ends it. */
export const askFresh = async (
  name: Contender,
  nodeOptions: ReadonlyArray<string>,
  ...question: Parameters<Child["ask"]>
): Promise<unknown> => {
  const contender = await startContender(name, nodeOptions)
  const answer = await contender.ask(...question)
  await retire(contender)
  return answer
}

export const startHttp = async (
  module: string,
  mode: string,
  options: { readonly count?: number; readonly port?: number; readonly tools?: number } = {}
): Promise<{ readonly child: Child; readonly urls: ReadonlyArray<string> }> => {
  const child = await started(module, [mode, JSON.stringify(options)])
  return { child, urls: (child.first as { readonly urls: ReadonlyArray<string> }).urls }
}

/** A server on stdio, started by each client that connects. */
export const stdioTarget = (module: string): Target => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(module, import.meta.url))]
})
