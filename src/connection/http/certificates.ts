/**
 * Reads the certificates that a connection trusts if the config sets `caFile`.
 */
import { readFile } from "node:fs/promises"
import { rootCertificates } from "node:tls"
import * as Effect from "effect/Effect"
import { NetworkFailed } from "../../domain/Errors.js"
import { isShortage } from "../../domain/internal/shortage.js"

export interface Options {
  readonly server: string
  readonly caFile: string
  /** The file in `NODE_EXTRA_CA_CERTS`. */
  readonly extraFile?: string | undefined
  readonly read?: ((file: string) => Promise<string>) | undefined
}

/**
 * The built-in certificates of Node.js and those of both files. The `ca` option of TLS replaces all defaults, so the list must
 * be complete.
 */
export const certificates = ({ caFile, extraFile, read = readText, server }: Options) =>
  Effect.tryPromise({
    try: async () => [...rootCertificates, await read(caFile), ...(await readExtra(read, extraFile))],
    catch: (error) => {
      const code = codeOf(error)
      const detail = `the certificates in "caFile" cannot be read`
      return new NetworkFailed({ server, code, permanent: !isShortage(code), detail })
    }
  })

/**
 * Reads the extra certificates. An unreadable file is ignored, as in Node.js; but a shortage is temporary and the file may be
 * needed, so it fails.
 */
const readExtra = async (read: (file: string) => Promise<string>, file = ""): Promise<ReadonlyArray<string>> => {
  if (file === "") return []
  return read(file).then(
    (text) => [text],
    (error: unknown) => {
      if (isShortage(codeOf(error))) throw error
      return []
    }
  )
}

const readText = (file: string) => readFile(file, "utf8")

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code)
