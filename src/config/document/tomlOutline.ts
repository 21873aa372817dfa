/**
 * Finds the places of keys and tables in a TOML document. The document must be valid: only the ends of values are
 * recognized.
 */
export interface Item {
  /** `table` and `arrayTable` are headers; `pair` is a key with its value, also within an inline table. */
  readonly kind: "table" | "arrayTable" | "pair"
  /** The path from the root. Items of an array of tables are numbered. */
  readonly path: ReadonlyArray<string | number>
  /** The offset of the header or key. */
  readonly offset: number
  /** The offset after the header or value. */
  readonly end: number
  /** The offset of the value of a pair. */
  readonly value: number
  /** Whether the item is within an inline table. */
  readonly inline: boolean
}

export const keyOf = (path: ReadonlyArray<string | number>): string => JSON.stringify(path)

export const outline = (text: string): ReadonlyArray<Item> => {
  const items: Array<Item> = []
  const counts = new Map<string, number>()
  let at = 0
  let table: ReadonlyArray<string | number> = []

  const skipSpace = () => {
    while (text[at] === " " || text[at] === "\t") at += 1
  }
  /** Skips white space, line ends and comments. */
  const skipBlank = () => {
    while (at < text.length) {
      if (/[ \t\r\n]/.test(text[at]!)) at += 1
      else if (text[at] === "#") skipLine()
      else return
    }
  }
  const skipLine = () => {
    const end = text.indexOf("\n", at)
    at = end === -1 ? text.length : end
  }

  const quoted = (): string => {
    const quote = text[at]!
    const triple = text.startsWith(quote.repeat(3), at)
    const start = at
    at += triple ? 3 : 1
    while (at < text.length) {
      if (quote === '"' && text[at] === "\\") at += 2
      else if (triple ? text.startsWith(quote.repeat(3), at) : text[at] === quote) break
      else at += 1
    }
    at += triple ? 3 : 1
    // up to two quotes may directly precede the end of a multi-line string
    if (triple) for (let more = 0; more < 2 && text[at] === quote; more += 1) at += 1
    return text.slice(start + 1, at - 1)
  }

  const word = (): string => {
    if (text[at] === '"') return unescape(quoted())
    if (text[at] === "'") return quoted()
    const [bare = ""] = /^[^\s.=\]]*/.exec(text.slice(at, at + 512)) ?? []
    at += Math.max(1, bare.length)
    return bare
  }

  const key = (): ReadonlyArray<string> => {
    const path = [word()]
    for (skipSpace(); text[at] === "."; skipSpace()) {
      at += 1
      skipSpace()
      path.push(word())
    }
    return path
  }

  /** Adds the indices of arrays of tables to the path of a table. */
  const numbered = (path: ReadonlyArray<string>): ReadonlyArray<string | number> => {
    const full: Array<string | number> = []
    for (const step of path) {
      full.push(step)
      const count = counts.get(keyOf(full))
      if (count !== undefined) full.push(count - 1)
    }
    return full
  }

  const value = (path: ReadonlyArray<string | number>): void => {
    if (text[at] === '"' || text[at] === "'") void quoted()
    else if (text[at] === "[") array(path)
    else if (text[at] === "{") inlineTable(path)
    else while (at < text.length && !/[,\]}\r\n#]/.test(text[at]!)) at += 1
  }

  const array = (path: ReadonlyArray<string | number>): void => {
    at += 1
    for (let index = 0; at < text.length; index += 1) {
      skipBlank()
      if (text[at] === "]") break
      const before = at
      value([...path, index])
      skipBlank()
      // always advances, even on invalid text
      if (text[at] === "," || at === before) at += 1
    }
    at += 1
  }

  const inlineTable = (path: ReadonlyArray<string | number>): void => {
    at += 1
    while (at < text.length) {
      skipBlank()
      if (text[at] === "}") break
      if (text[at] === ",") at += 1
      else pair(path, true)
    }
    at += 1
  }

  const pair = (around: ReadonlyArray<string | number>, inline: boolean): void => {
    const offset = at
    const path = [...around, ...key()]
    skipSpace()
    if (text[at] === "=") at += 1
    skipSpace()
    const start = at
    const index = items.length
    value(path)
    const end = start + text.slice(start, at).trimEnd().length
    // a pair comes before the pairs inside of it
    items.splice(index, 0, { kind: "pair", path, offset, end, value: start, inline })
  }

  const header = (): void => {
    const offset = at
    const isArray = text.startsWith("[[", at)
    at += isArray ? 2 : 1
    skipSpace()
    const path = key()
    if (isArray) {
      const parent = keyOf([...numbered(path.slice(0, -1)), path.at(-1)!])
      counts.set(parent, (counts.get(parent) ?? 0) + 1)
    }
    table = numbered(path)
    skipSpace()
    at += isArray ? 2 : 1
    items.push({ kind: isArray ? "arrayTable" : "table", path: table, offset, end: at, value: at, inline: false })
  }

  for (skipBlank(); at < text.length; skipBlank()) {
    const before = at
    if (text[at] === "[") header()
    else pair(table, false)
    if (at === before) at += 1
  }
  return items
}

const escapes: Record<string, string> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\x1b", '"': '"', "\\": "\\" }

const unescape = (text: string): string =>
  text.replace(/\\(u[\da-fA-F]{4}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|.)/g, (_, escape: string) =>
    escape.length > 1 ? String.fromCodePoint(Number.parseInt(escape.slice(1), 16)) : (escapes[escape] ?? escape)
  )
