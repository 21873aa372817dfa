/**
 * A text as a reader who undoes some encoding sees it, with the way back: each character knows the part of the original
 * that it stands for.
 */
export interface View {
  readonly text: string
  /** Where the character at an index begins in the original. */
  readonly from: (index: number) => number
  /** Where the character at an index ends in the original. */
  readonly to: (index: number) => number
}

/** An encoding is found by `pattern` and undone by `decode`, which answers nothing where it only looks like one. */
interface Encoding {
  readonly pattern: RegExp
  readonly decode: (encoded: string) => string | undefined
}

const jsonEscapes: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

/** One to four bytes that make up one character. */
const percentEncoded =
  /%(?:[0-7][\da-f]|[cd][\da-f](?:%[89ab][\da-f])|e[\da-f](?:%[89ab][\da-f]){2}|f[0-7](?:%[89ab][\da-f]){3})/gi

const decodePercent = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/** What a terminal does not show: colours, links, control characters, and characters without a width. */
const notShown = new RegExp(
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
    // forms write a blank as a plus
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
  { pattern: notShown, decode: () => "" },
  // base64 is often broken into lines
  { pattern: /(?<=[\w+/-])[ \t]*[\r\n]+[ \t]*(?=[\w+/=-])/g, decode: () => "" }
]

/** A secret may be encoded in a URL inside a JSON string inside another one. */
const maxDepth = 3

const undo = (view: View, { decode, pattern }: Encoding): View => {
  const text = view.text.replace(pattern, (encoded) => decode(encoded) ?? encoded)
  // most texts hold no secret: the way back is worked out when one was found
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
  const stand = (units: number, first: number, last: number) => {
    for (let unit = 0; unit < units; unit++) {
      from.push(view.from(first))
      to.push(view.to(last))
    }
  }
  let end = 0
  const keepUntil = (until: number) => {
    for (; end < until; end++) stand(1, end, end)
  }
  for (const { 0: encoded, index } of view.text.matchAll(pattern)) {
    const decoded = decode(encoded)
    if (decoded === undefined) continue
    keepUntil(index)
    end = index + encoded.length
    stand(decoded.length, index, end - 1)
  }
  keepUntil(view.text.length)
  return { from, to }
}

/** The text and every reading of it that differs, each once. */
export const viewsOf = (text: string): ReadonlyArray<View> => {
  const views: Array<View> = [{ text, from: (index) => index, to: (index) => index + 1 }]
  const seen = new Set([text])
  let newest = views
  for (let depth = 0; depth < maxDepth; depth++) {
    newest = newest
      .flatMap((view) => encodings.map((encoding) => undo(view, encoding)))
      .filter((view) => !seen.has(view.text) && seen.add(view.text) !== undefined)
    for (const view of newest) views.push(view)
  }
  return views
}
