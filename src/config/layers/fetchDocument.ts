/**
 * Fetches one small document over HTTP. This is a separate module so that undici is loaded only if such a document is
 * configured. It is imported by name: in the bundled program, `import()` of a CommonJS package has a `default` export only.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Dispatcher, EnvHttpProxyAgent, request } from "undici"
import { noProxy } from "../../system/noProxy.js"
import { codeOf } from "../../system/files/wholeFile.js"

export type Fetched =
  | { readonly _tag: "Document"; readonly text: string; readonly etag: string | undefined }
  /** The copy with the given `etag` is still current. */
  | { readonly _tag: "Unchanged" }

export interface FetchOptions {
  /** The validator of the stored copy. */
  readonly etag: string | undefined
  readonly maxBytes: number
  /** Whether a URL may be requested, including the target of a redirect. */
  readonly isAllowed: (url: URL) => boolean
  /** The time for all redirects and the whole body. */
  readonly budget: Duration.Duration
}

const maxRedirects = 5

/** Longer validators are not stored. */
const maxEtag = 1024

/** Fetches the document. Fails with the reason, in words for people. */
export const fetchDocument = (url: string, options: FetchOptions): Effect.Effect<Fetched, string> =>
  Effect.tryPromise({
    try: async (signal) => {
      const dispatcher = new EnvHttpProxyAgent({ noProxy: noProxy() })
      try {
        return await follow(new URL(url), options, { dispatcher, signal }, maxRedirects)
      } finally {
        await dispatcher.destroy()
      }
    },
    catch: (error) => (error instanceof FetchRefused ? error.message : reasonOf(error))
  }).pipe(
    Effect.timeoutFail({
      duration: options.budget,
      onTimeout: () => `no complete answer within ${Duration.toSeconds(options.budget)} seconds`
    })
  )

/** Ends a fetch with a reason of this module, rather than of undici. */
class FetchRefused extends Error {}

const reasonOf = (error: unknown): string => {
  const code = codeOf(error)
  return code === "unknown" && error instanceof Error ? error.name : code
}

const follow = async (
  url: URL,
  options: FetchOptions,
  how: { readonly dispatcher: Dispatcher; readonly signal: AbortSignal },
  redirects: number
): Promise<Fetched> => {
  const headers = {
    accept: "application/json",
    ...(options.etag === undefined ? {} : { "if-none-match": options.etag })
  }
  const { body, headers: answered, statusCode } = await request(url, { ...how, headers })
  if (statusCode === 200) {
    const text = await bounded(body, options.maxBytes)
    const etag = answered.etag
    return { _tag: "Document", text, etag: typeof etag === "string" && etag.length <= maxEtag ? etag : undefined }
  }
  // the connection is destroyed with the dispatcher: the rest of the body is not read
  body.on("error", () => {}).destroy()
  if (statusCode === 304 && options.etag !== undefined) return { _tag: "Unchanged" }
  const location = answered.location
  if (![301, 302, 303, 307, 308].includes(statusCode) || typeof location !== "string") {
    throw new FetchRefused(`HTTP status ${statusCode}`)
  }
  if (redirects === 0) throw new FetchRefused(`more than ${maxRedirects} redirects`)
  if (!URL.canParse(location, url.href)) throw new FetchRefused("a redirect to something that is not an address")
  const next = new URL(location, url)
  if (!options.isAllowed(next)) throw new FetchRefused("a redirect to an address that is not https")
  return follow(next, options, how, redirects - 1)
}

const bounded = async (body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new FetchRefused(`more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new FetchRefused("bytes that are not UTF-8")
  }
}
