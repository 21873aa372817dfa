/**
 * Decodes a text in several ways, and maps each decoded character to its origin.
 */

/** A decoded text. Each of its characters is mapped to the part of the original text from which it was decoded. */
export interface View {
  readonly text: string
  /** The start of a character in the original. */
  readonly from: (index: number) => number
  /** The end of a character in the original. */
  readonly to: (index: number) => number
}

/** An encoding. `decode` returns undefined for a match of `pattern` that is not encoded. */
interface Encoding {
  readonly pattern: RegExp
  readonly decode: (encoded: string) => string | undefined
}

const jsonEscapes: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

/** A percent-encoded character of one to four bytes. */
const percentEncoded =
  /%(?:[0-7][\da-f]|[cd][\da-f](?:%[89ab][\da-f])|e[\da-f](?:%[89ab][\da-f]){2}|f[0-7](?:%[89ab][\da-f]){3})/gi

const decodePercent = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/** Characters and sequences that a terminal does not show: colours, links, control characters, and characters without width. */
const invisibleSequence = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[\d;:?]*[ -/]*[@-~]`,
    String.raw`(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)`,
    String.raw`[\p{Default_Ignorable_Code_Point}\p{Cf}]`,
    String.raw`(?![\t\n\r])\p{Cc}`
  ].join("|"),
  "gu"
)

const encodings: ReadonlyArray<Encoding> = [
  { pattern: percentEncoded, decode: decodePercent },
  {
    // HTML forms encode a space as a plus
    pattern: new RegExp(String.raw`\+|${percentEncoded.source}`, "gi"),
    decode: (encoded) => (encoded === "+" ? " " : decodePercent(encoded))
  },
  {
    pattern: /\\(?:u[\da-f]{4}|["\\/bfnrt])/gi,
    decode: (encoded) => {
      const kind = encoded.charAt(1)
      return kind === "u" || kind === "U"
        ? String.fromCharCode(Number.parseInt(encoded.slice(2), 16))
        : (jsonEscapes[kind] ?? kind)
    }
  },
  { pattern: invisibleSequence, decode: () => "" },
  // base64 is often split into lines
  { pattern: /(?<=[\w+/-])[ \t]*[\r\n]+[ \t]*(?=[\w+/=-])/g, decode: () => "" }
]

/** The number of nested encodings that are decoded. A secret can be in a URL inside a JSON string inside another one. */
const maxDepth = 3

const decodeView = (view: View, { decode, pattern }: Encoding): View => {
  const text = view.text.replace(pattern, (encoded) => decode(encoded) ?? encoded)
  // computed on first use: most texts contain no secret
  let origins: Origins | undefined
  const trace = () => (origins ??= traceBack(view, { decode, pattern }))
  return { text, from: (index) => trace().from[index]!, to: (index) => trace().to[index]! }
}

interface Origins {
  readonly from: ReadonlyArray<number>
  readonly to: ReadonlyArray<number>
}

const traceBack = (view: View, { decode, pattern }: Encoding): Origins => {
  const from: Array<number> = []
  const to: Array<number> = []
  const addOrigins = (units: number, first: number, last: number) => {
    for (let unit = 0; unit < units; unit++) {
      from.push(view.from(first))
      to.push(view.to(last))
    }
  }
  let end = 0
  const copyUntil = (until: number) => {
    for (; end < until; end++) addOrigins(1, end, end)
  }
  for (const { 0: encoded, index } of view.text.matchAll(pattern)) {
    const decoded = decode(encoded)
    if (decoded === undefined) continue
    copyUntil(index)
    end = index + encoded.length
    addOrigins(decoded.length, index, end - 1)
  }
  copyUntil(view.text.length)
  return { from, to }
}

/** The text, and each different text that decoding it yields, once. */
export const viewsOf = (text: string): ReadonlyArray<View> => {
  const views: Array<View> = [{ text, from: (index) => index, to: (index) => index + 1 }]
  const texts = new Set([text])
  let newest = views
  for (let depth = 0; depth < maxDepth; depth++) {
    newest = newest
      .flatMap((view) => encodings.map((encoding) => decodeView(view, encoding)))
      .filter((view) => !texts.has(view.text) && texts.add(view.text) !== undefined)
    for (const view of newest) views.push(view)
  }
  return views
}
