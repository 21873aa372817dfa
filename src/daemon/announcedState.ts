/**
 * Computes from `daemon.json` what its supervisor does, without loading Effect.
 */
import { revision } from "../control/apiRevision.js"

export interface Announcement {
  /** The revision of the control API. */
  readonly api: number
  /** Whether the supervisor is shutting down. */
  readonly isEnding?: boolean | undefined
}

/** What the supervisor does if its process is alive. `OtherApi`: this program does not support its control API. */
export const announcedState = ({ api, isEnding }: Announcement): "Running" | "ShuttingDown" | "OtherApi" => {
  if (isEnding === true) return "ShuttingDown"
  return api === revision ? "Running" : "OtherApi"
}
