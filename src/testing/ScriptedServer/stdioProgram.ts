/**
 * The program of a scripted stdio server. Its source is sent to the process, so it must not use anything outside of the
 * function.
 */
import type { makeEngine, ClientMessage, Port } from "./engine.js"
import type { StdioScript, StdioStep } from "./model.js"

export function stdioProgram(
  script: StdioScript,
  engineOf: typeof makeEngine,
  load: (module: string) => unknown
): void {
  const { spawn } = load("node:child_process") as typeof import("node:child_process")
  const { closeSync } = load("node:fs") as typeof import("node:fs")
  const { stderr, stdin, stdout } = process
  const lifetime = script.lifetime ?? 60_000
  process.title = "scripted-mcp-server"
  // Also keeps the process alive when nothing is left to read.
  setTimeout(() => process.exit(0), lifetime)

  const sleep = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))
  const engine = engineOf<StdioStep>(script, sleep)

  // If the client disconnects, the process continues: only the script ends it.
  stdout.on("error", () => {})
  stderr.on("error", () => {})
  const write = (stream: NodeJS.WriteStream, data: string | Uint8Array) =>
    new Promise<void>((resolve) => stream.write(data, () => resolve()))

  const repeated = (bytes: Buffer, times: number) => Buffer.alloc(bytes.length * times, bytes)

  const startGrandchild = async (options: Extract<StdioStep, { step: "spawn" }>) => {
    const ignoring = options.ignoreSigterm ? "process.on('SIGTERM', () => {});" : ""
    const program = ignoring + "setTimeout(() => {}, " + lifetime + "); process.stderr.write('ready')"
    const child = spawn(process.execPath, ["-e", program], {
      stdio: ["ignore", options.holdStdout ? "inherit" : "ignore", "pipe"],
      detached: options.ownGroup
    })
    await new Promise((resolve) => child.stderr?.once("data", resolve))
    await write(stderr, "grandchild " + child.pid + "\n")
  }

  const port: Port<StdioStep> = {
    send: (message) => write(stdout, JSON.stringify(message) + "\n"),
    act: async (step) => {
      switch (step.step) {
        case "write":
          return write(stdout, repeated(Buffer.from(step.text, step.encoding), step.times))
        case "stderr":
          return write(stderr, step.text.repeat(step.times))
        case "close":
          // Node.js does not allow closing `process.stdout`.
          return closeSync(1)
        case "exit":
          return process.exit(step.code)
        case "kill":
          process.kill(process.pid, step.signal)
          return
        case "spawn":
          return startGrandchild(step)
      }
    }
  }

  const happens = (on: string, otherwise?: () => void) => {
    const steps = engine.find(on)
    return steps === undefined ? otherwise?.() : engine.run(steps, port)
  }

  const receive = (line: string) => {
    let message: ClientMessage
    try {
      message = JSON.parse(line)
    } catch {
      return
    }
    const isAnswer = engine.note(message)
    const steps = engine.find(isAnswer ? "response" : (message.method ?? ""), message)
    const isRequest = !isAnswer && message.id !== undefined
    if (steps !== undefined) void engine.run(steps, port, message)
    else if (isRequest) void engine.run([{ step: "answer" }], port, message)
  }

  const read = () => {
    let rest = ""
    stdin.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) if (line.trim() !== "") receive(line)
    })
    stdin.on("end", () => void happens("eof", () => process.exit(0)))
  }

  const signals = new Set((script.rules ?? []).map(({ on }) => on).filter((on) => /^SIG[A-Z0-9]+$/.test(on)))
  for (const signal of signals) {
    // If no rule matches any more, the signal has its default effect.
    const die = () => {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
    process.on(signal as NodeJS.Signals, () => void happens(signal, die))
  }
  void Promise.resolve(happens("start")).then(read)
}
