/**
 * The default settings of a server; of the restart policy, only `maxRestarts`. Durations in milliseconds.
 */
import { defaultPolicy } from "../RestartPolicy.js"

export const defaults = {
  timeout: { connect: 30_000, list: 30_000, call: 30_000, total: 1_800_000 },
  health: { interval: 30_000, timeout: 5_000 },
  restart: defaultPolicy,
  /** A local server that crashes often is most likely broken; a remote one is most likely being repaired. */
  maxRestarts: { local: 5, remote: Number.POSITIVE_INFINITY },
  catalogTtl: 3_600_000,
  /** Bytes. */
  listBudget: 32 * 1024 * 1024,
  concurrency: Number.POSITIVE_INFINITY,
  callbackPort: 19_876
} as const
