/**
 * The faults of simulated servers.
 */
import { Errors } from "../../../src/index.js"

const makers = {
  notFound: (server: string) => new Errors.SpawnFailed({ server, command: "x", reason: "not_found" }),
  noResources: (server: string) => new Errors.SpawnFailed({ server, command: "x", reason: "no_resources" }),
  exited: (server: string) => new Errors.ProcessExited({ server, exitCode: 1, stderr: "no" }),
  killed: (server: string) => new Errors.ProcessExited({ server, phase: "handshake", signal: "SIGKILL" }),
  unusable: (server: string) => new Errors.ProcessExited({ server, phase: "spawn", exitCode: 127 }),
  timeout: (server: string) => new Errors.ConnectTimeout({ server, phase: "handshake", after: 1_000 }),
  http500: (server: string) => new Errors.HttpFailed({ server, status: 500 }),
  http503: (server: string) => new Errors.HttpFailed({ server, status: 503, retryAfter: 45_000 }),
  http429: (server: string) => new Errors.HttpFailed({ server, status: 429, retryAfter: 20_000 }),
  http404: (server: string) => new Errors.HttpFailed({ server, status: 404 }),
  network: (server: string) => new Errors.NetworkFailed({ server, code: "ECONNREFUSED", permanent: false }),
  certificate: (server: string) => new Errors.NetworkFailed({ server, code: "CERT_HAS_EXPIRED", permanent: true }),
  incompatible: (server: string) => new Errors.IncompatibleServer({ server, detail: "HTML" }),
  refused: (server: string) => new Errors.HandshakeRefused({ server, code: -32603, detail: "no" }),
  closed: (server: string) => new Errors.ConnectionClosed({ server }),
  sessionLost: (server: string) => new Errors.SessionLost({ server }),
  health: (server: string) => new Errors.HealthCheckFailed({ server, after: 5_000 }),
  auth: (server: string) => new Errors.AuthRequired({ server, reason: "401", login: true }),
  registration: (server: string) => new Errors.RegistrationRequired({ server, detail: "no registration" }),
  authError: (server: string) => new Errors.AuthError({ server, reason: "access_denied", detail: "no" }),
  invalidConfig: (server: string) => new Errors.InvalidConfig({ server, issues: [] }),
  unexpected: (server: string) => new Errors.UnexpectedFailure({ server, detail: "oops" })
} satisfies Record<string, (server: string) => Errors.ConnectionError>

export type ErrorKind = keyof typeof makers

export const errorKinds = Object.keys(makers) as ReadonlyArray<ErrorKind>

export const errorOf = (kind: string, server: string): Errors.ConnectionError => makers[kind as ErrorKind](server)

export type ConnectMode =
  | { readonly kind: "good" }
  | { readonly kind: "fail"; readonly error: string; readonly after: number }
  | { readonly kind: "slow"; readonly after: number }
  | { readonly kind: "hang" }
  | { readonly kind: "crash"; readonly error: string; readonly after: number }

export type ListingMode = "good" | "slow" | "fail" | "garbage" | "hang" | "limited" | "auth" | "crash"

export type CallMode =
  | "answer"
  | "slow"
  | "stuck"
  | "progress"
  | "error"
  | "refuse"
  | "garbage"
  | "limited"
  | "auth"
  | "crash"
  /** The message is not sent. */
  | "unsent"
  /** The response is lost, and the connection stays. */
  | "lost"

export type ProbeMode = "good" | "fail" | "hang" | "slow"

export type ClosingMode = "at once" | "slow" | "forever"
