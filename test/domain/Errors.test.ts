import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, FastCheck as fc, Schema } from "effect"
import { Errors, Failure } from "../../src/index.js"
import { runs } from "../laws/runs.js"

const server = "files"
const issue = { path: ["timeout"], expected: "a duration", found: "zero" }

describe("the messages of errors", () => {
  it.each([
    [new Errors.ServerNotFound({ server }), 'there is no server "files"; list the servers to see their names'],
    [new Errors.ServerNotFound({ server, nearest: "file" }), 'there is no server "files"; did you mean "file"?'],
    [new Errors.ServerExists({ server }), 'there is a server "files" already; remove it first or choose another name'],
    [
      new Errors.InvalidConfig({ server, issues: [issue] }),
      "files: invalid config: timeout: expected a duration, found zero"
    ],
    [
      new Errors.InvalidConfig({ issues: [issue, issue] }),
      "invalid config: timeout: expected a duration, found zero; timeout: expected a duration, found zero"
    ],
    [
      new Errors.EditRefused({ file: "/x.json", reason: "it cannot be written", issues: [] }),
      "/x.json was not changed: it cannot be written"
    ],
    [
      new Errors.EditRefused({ file: "/x.json", reason: "it cannot be read", issues: [issue] }),
      "/x.json was not changed: it cannot be read: timeout: expected a duration, found zero"
    ],
    [
      new Errors.RequiredServerFailed({
        servers: [
          { server, status: { status: "failed", error: "no", errorTag: "X", failures: 1 } },
          { server: "b", status: { status: "idle", since: 0 } }
        ]
      }),
      "required servers are not connected: files (failed: no), b (idle)"
    ],
    [new Errors.ToolNotFound({ tool: "red" }), 'there is no tool "red"; list the tools to see their names'],
    [
      new Errors.ToolNotFound({ tool: "red", server, nearest: "read" }),
      'there is no tool "red" on server "files"; did you mean "read"?'
    ],
    [new Errors.ServerUnavailable({ server, status: { status: "idle", since: 0 } }), "files is idle"],
    [
      new Errors.ServerUnavailable({ server, status: { status: "failed", error: "no", errorTag: "X", failures: 1 } }),
      "files is failed: no"
    ],
    [
      new Errors.ServerUnavailable({ server, status: { status: "disabled", by: "command", hint: "connect it" } }),
      "files is disabled; connect it"
    ],
    [new Errors.ServerUnavailable({ server, status: { status: "disabled", by: "command" } }), "files is disabled"],
    [
      new Errors.InvalidArguments({ server, subject: "read", issues: [issue] }),
      "files: invalid arguments for read: timeout: expected a duration, found zero"
    ],
    [new Errors.NotSent({ server, reason: "gone" }), "files: not sent (gone); it is safe to try again"],
    [
      new Errors.OutcomeUnknown({ server, cause: new Errors.ProcessExited({ server, signal: "SIGKILL" }) }),
      "files: the response was lost, the call may have been executed; check before you repeat it (files: the process ended by signal SIGKILL; run its command by hand to see why)"
    ],
    [
      new Errors.CallTimeout({ server, which: "idle", sent: true, after: 5 }),
      "files: no response and no progress for 5 ms; the call may have been executed"
    ],
    [
      new Errors.CallTimeout({ server, which: "total", sent: false, after: 5 }),
      "files: no response in a total of 5 ms; the call was not sent"
    ],
    [new Errors.RateLimited({ server, retryAfter: 5 }), "files: too many requests; try again in 5 ms"],
    [
      new Errors.Overloaded({ server, queued: 5 }),
      'files: 5 calls are already waiting; try again later or raise "concurrency"'
    ],
    [
      new Errors.InvalidResult({ server, issues: [issue] }),
      "files: the result is invalid, report it to the server's authors: timeout: expected a duration, found zero"
    ],
    [
      new Errors.InvalidResult({ server, issues: [issue], exceeds: "listBudget" }),
      'files: the result is too large, raise "listBudget" if the server needs it: timeout: expected a duration, found zero'
    ],
    [new Errors.ProtocolError({ server, code: -32_601, message: "no such method" }), "no such method"],
    [new Errors.SupervisorClosed(), "the supervisor is closed; build its layer again to continue"],
    [
      new Errors.SpawnFailed({ server, command: "nod e", reason: "not_found", where: "/bin:/usr/bin" }),
      "files: command 'nod e' was not found; install it or give its full path (searched: /bin:/usr/bin)"
    ],
    [
      new Errors.SpawnFailed({ server, command: "it's", reason: "not_permitted" }),
      "files: command 'it'\\''s' may not be executed; check its permissions"
    ],
    [
      new Errors.SpawnFailed({ server, command: "node", reason: "bad_directory" }),
      'files: the working directory unknown does not exist or is no directory; correct "cwd"'
    ],
    [
      new Errors.SpawnFailed({ server, command: "node", reason: "bad_arguments" }),
      "files: command node was refused by the system; its arguments or environment are invalid or too long"
    ],
    [
      new Errors.SpawnFailed({ server, command: "node", reason: "no_resources" }),
      "files: not started yet, retried soon: the system has no room for another process; end some or raise the limits (ulimit -n, ulimit -u)"
    ],
    [
      new Errors.SpawnFailed({ server, command: "node", reason: "no_resources", code: "EMFILE" }),
      "files: not started yet, retried soon: the supervisor has no free file descriptor; raise the limit (ulimit -n) or run fewer servers (EMFILE)"
    ],
    [
      new Errors.NetworkFailed({ server, code: "ENOMEM", permanent: false }),
      "files: not reached yet, retried soon: the system has no free memory; end some programs (ENOMEM)"
    ],
    [
      new Errors.ProcessExited({ server, phase: "handshake", exitCode: 1, stderr: "a\nb\nno database\n" }),
      "files: the process ended with code 1 during handshake; last line on stderr: no database"
    ],
    [
      new Errors.ProcessExited({ server }),
      "files: the process ended with code unknown; run its command by hand to see why"
    ],
    [
      new Errors.ConnectTimeout({ server, phase: "discover", after: 5 }),
      'files: no response during discover within 5 ms; raise "timeout" if it needs longer'
    ],
    [
      new Errors.HttpFailed({ server, status: 502, detail: "bad gateway" }),
      "files: answered HTTP 502 (bad gateway); ask its operator"
    ],
    [new Errors.HttpFailed({ server, status: 500 }), "files: answered HTTP 500; ask its operator"],
    [new Errors.HttpFailed({ server, status: 404 }), 'files: answered HTTP 404; check "url" and "headers"'],
    [
      new Errors.HandshakeRefused({ server, code: -32_603, detail: "boom" }),
      "files: refused to connect (-32603: boom); see its log"
    ],
    [
      new Errors.AuthError({ server, reason: "access_denied", detail: "they said no" }),
      "files: login failed (access_denied): they said no"
    ],
    [
      new Errors.AuthError({ server, reason: "unavailable", detail: "nobody answers" }),
      "files: credentials are not available right now: nobody answers"
    ],
    [
      new Errors.NetworkFailed({ server, code: "ECONNREFUSED", permanent: false, detail: "port 1" }),
      'files: cannot be reached (ECONNREFUSED: port 1); check "url", the network and proxies'
    ],
    [
      new Errors.NetworkFailed({ server, code: "ECONNREFUSED", permanent: false }),
      'files: cannot be reached (ECONNREFUSED); check "url", the network and proxies'
    ],
    [
      new Errors.IncompatibleServer({ server, detail: "it speaks HTML" }),
      'files: not a compatible MCP server (it speaks HTML); check "url", "type" and "protocol"'
    ],
    [
      new Errors.ConnectionClosed({ server, detail: "reset" }),
      "files: the connection was closed (reset); its status says whether it is reconnected"
    ],
    [
      new Errors.ConnectionClosed({ server }),
      "files: the connection was closed; its status says whether it is reconnected"
    ],
    [new Errors.SessionLost({ server }), "files: the server lost the session; a new one is opened"],
    [new Errors.HealthCheckFailed({ server, after: 5 }), "files: did not respond for 5 ms; it is reconnected"],
    [
      new Errors.AuthRequired({ server, reason: "log in first", scope: "read", login: true }),
      "files: log in first (scope read); log in: mcp-supervisor auth files"
    ],
    [
      new Errors.AuthRequired({ server, reason: "wrong key", login: false }),
      `files: wrong key; a login does not help here: set the server's credentials in "headers"`
    ],
    [
      new Errors.RegistrationRequired({ server, detail: "no dynamic registration" }),
      'files: no dynamic registration; register a client with the authorization server and set "oauth": { "clientId": … } of this server'
    ],
    [new Errors.UnexpectedFailure({ server, detail: "boom" }), "files: unexpected failure, please report it: boom"]
  ])("%s", (error, message) => {
    assert.strictEqual(error.message, message)
  })
})

describe("errors", () => {
  it("are equal after encoding to JSON and decoding", () =>
    fc.assert(
      fc.property(Arbitrary.make(Errors.CallError), (error) => {
        const wire = JSON.parse(JSON.stringify(Schema.encodeSync(Errors.CallError)(error)))
        const back = Schema.decodeUnknownSync(Errors.CallError)(wire)
        assert.strictEqual(back._tag, error._tag)
        assert.strictEqual(back.message, error.message)
      }),
      runs(200)
    ))

  it.effect("are distinguished by their tag", () =>
    Effect.gen(function* () {
      const call: Effect.Effect<string, Errors.CallError> = Effect.fail(new Errors.Overloaded({ server, queued: 3 }))
      const answer = yield* Effect.catchTag(call, "Overloaded", ({ queued }) => Effect.succeed(`${queued} wait`))
      assert.strictEqual(answer, "3 wait")
    })
  )

  it("name the JSON-RPC codes that they carry", () => {
    const of = (code: number) => new Errors.ProtocolError({ server, code, message: "" }).codeName
    assert.deepStrictEqual([-32_700, -32_600, -32_601, -32_602, -32_603, -32_020, -32_021, -32_022, -1].map(of), [
      "ParseError",
      "InvalidRequest",
      "MethodNotFound",
      "InvalidParams",
      "InternalError",
      "HeaderMismatch",
      "MissingRequiredClientCapability",
      "UnsupportedProtocolVersion",
      undefined
    ])
  })
})

describe("a failure", () => {
  it.each([
    [new Errors.AuthRequired({ server, reason: "log in", scope: "read", login: true }), "auth"],
    [new Errors.RegistrationRequired({ server, detail: "no" }), "registration"],
    [new Errors.SessionLost({ server }), "session_lost"],
    [new Errors.InvalidConfig({ server, issues: [issue] }), "permanent"],
    [new Errors.IncompatibleServer({ server, detail: "HTML" }), "permanent"],
    [new Errors.SpawnFailed({ server, command: "x", reason: "not_found" }), "permanent"],
    [new Errors.SpawnFailed({ server, command: "x", reason: "no_resources" }), "shortage"],
    [new Errors.NetworkFailed({ server, code: "EMFILE", permanent: false }), "shortage"],
    [new Errors.ProcessExited({ server, phase: "handshake", exitCode: 127 }), "permanent"],
    [new Errors.ProcessExited({ server, phase: "handshake", exitCode: 1 }), "transient"],
    [new Errors.ProcessExited({ server, phase: "spawn", signal: "SIGKILL" }), "transient"],
    [new Errors.ProcessExited({ server, exitCode: 127 }), "transient"],
    [new Errors.HttpFailed({ server, status: 403 }), "permanent"],
    [new Errors.HttpFailed({ server, status: 404 }), "permanent"],
    [new Errors.HttpFailed({ server, status: 408 }), "transient"],
    [new Errors.HttpFailed({ server, status: 425 }), "transient"],
    [new Errors.HttpFailed({ server, status: 429 }), "transient"],
    [new Errors.HttpFailed({ server, status: 500 }), "transient"],
    [new Errors.HttpFailed({ server, status: 503 }), "transient"],
    [new Errors.NetworkFailed({ server, code: "ECONNRESET", permanent: false }), "transient"],
    [new Errors.NetworkFailed({ server, code: "CERT_HAS_EXPIRED", permanent: true }), "permanent"],
    [new Errors.ConnectTimeout({ server, phase: "spawn", after: 1 }), "transient"],
    [new Errors.ConnectionClosed({ server }), "transient"],
    [new Errors.HealthCheckFailed({ server, after: 1 }), "transient"],
    [new Errors.HandshakeRefused({ server, code: -32_603, detail: "boom" }), "transient"],
    [new Errors.AuthError({ server, reason: "issuer_mismatch", detail: "another issuer" }), "permanent"],
    [new Errors.AuthError({ server, reason: "unavailable", detail: "nobody answers" }), "transient"],
    [new Errors.UnexpectedFailure({ server, detail: "boom" }), "transient"]
  ] as const)("%s is %s", (error, kind) => {
    const failure = Failure.fromError(error)
    assert.strictEqual(failure.kind, kind)
    assert.strictEqual(failure.errorTag, error._tag)
  })

  it("has only details that its error has", () => {
    assert.hasAllKeys(Failure.fromError(new Errors.ProcessExited({ server, exitCode: 1 })), [
      "kind",
      "error",
      "errorTag",
      "exitCode"
    ])
  })

  it("does not repeat the name of the server", () => {
    assert.strictEqual(
      Failure.fromError(new Errors.SessionLost({ server })).error,
      "the server lost the session; a new one is opened"
    )
    assert.match(Failure.fromError(new Errors.InvalidConfig({ issues: [issue] })).error, /^invalid config: timeout/)
  })

  it("keeps the details that a status shows", () => {
    assert.deepInclude(Failure.fromError(new Errors.ProcessExited({ server, exitCode: 1, stderr: "no" })), {
      exitCode: 1,
      stderr: "no"
    })
    assert.deepInclude(Failure.fromError(new Errors.HttpFailed({ server, status: 429, retryAfter: 9 })), {
      retryAfter: 9
    })
    assert.deepInclude(
      Failure.fromError(new Errors.AuthRequired({ server, reason: "log in", scope: "read", login: true })),
      {
        error: "log in",
        scope: "read",
        hint: "log in: mcp-supervisor auth files"
      }
    )
    const registration = Failure.fromError(new Errors.RegistrationRequired({ server, detail: "no" }))
    assert.include(registration.hint ?? "", "clientId")
    assert.strictEqual(registration.error, "no")
  })
})
