/**
 * The certificates that a connection trusts where a config names some of its own.
 */
import { readFile } from "node:fs/promises"
import { rootCertificates } from "node:tls"
import * as Effect from "effect/Effect"
import { NetworkFailed } from "../../domain/Errors.js"
import { isShortage } from "../../domain/internal/shortage.js"

export interface Options {
  readonly server: string
  readonly caFile: string
  /** The file that NODE_EXTRA_CA_CERTS names. */
  readonly extraFile?: string | undefined
  readonly read?: ((file: string) => Promise<string>) | undefined
}

/** What Node.js trusts, and what the files hold. Setting one replaces the other. */
export const certificates = ({ caFile, extraFile, read = readText, server }: Options) =>
  Effect.tryPromise({
    try: async () => [...rootCertificates, await read(caFile), ...(await extra(read, extraFile))],
    catch: (error) => {
      const code = codeOf(error)
      const detail = `the certificates in "caFile" cannot be read`
      return new NetworkFailed({ server, code, permanent: !isShortage(code), detail })
    }
  })

/** A file that cannot be read is ignored, as Node.js does it. In a shortage it could be read later, and may be needed. */
const extra = async (read: (file: string) => Promise<string>, file = ""): Promise<ReadonlyArray<string>> => {
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
