/**
 * Describes the steps of a discovery: which address was requested, what came back, and what follows from it.
 */
export interface DiscoveryStep {
  /** The server itself, its metadata, or the metadata of its authorization server. */
  readonly subject: "server" | "resource" | "authorization"
  /** Absent if nothing was requested. */
  readonly request?: { readonly method: "GET" | "POST"; readonly url: string } | undefined
  /** The HTTP status. Absent if there was no response. */
  readonly status?: number | undefined
  /** What came back and what follows from it, as text for people. */
  readonly detail: string
  readonly ok: boolean
}

export type OnStep = ((step: DiscoveryStep) => void) | undefined
