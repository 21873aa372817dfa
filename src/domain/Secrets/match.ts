/**
 * Finds secrets in a text, in all their usual encodings.
 */
import * as Encoding from "effect/Encoding"
import { viewsOf } from "./view.js"

/** A range of a text: from (inclusive) and to (exclusive). */
export type Range = readonly [from: number, to: number]

/**
 * The parts of a secret's base64 that do not depend on the text around it, one for each of the three offsets in a group of
 * three bytes. In both alphabets.
 */
const base64Cores = (secret: string): ReadonlyArray<string> => {
  const bytes = new TextEncoder().encode(secret)
  const cores = [0, 1, 2].map((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const firstWhole = Math.ceil((offset * 8) / 6)
    const afterWhole = Math.floor((padded.length * 8) / 6)
    return Encoding.encodeBase64(padded).slice(firstWhole, afterWhole)
  })
  return [...cores, ...cores.map((core) => core.replaceAll("+", "-").replaceAll("/", "_"))]
}

/**
 * The usual spellings of a secret. Decoding the text finds these and many more, but a character before the secret can break the
 * decoding: in `%1abc` the `a` belongs to the escape.
 */
const spellings = (secret: string): ReadonlyArray<string> => {
  // a text with unpaired surrogates cannot be URL-encoded
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(secret))
  const inUrls = [encodeURIComponent(text), encodeURI(text), new URLSearchParams({ "": text }).toString().slice(1)]
  const lowerCase = inUrls.map((url) => url.replace(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase()))
  return [secret, JSON.stringify(secret).slice(1, -1), ...inUrls, ...lowerCase]
}

const needlesOf = (secrets: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(secrets.flatMap(spellings).flatMap((spelling) => [spelling, ...base64Cores(spelling)]))
]

/** Finds secrets, and has a placeholder for them. */
export interface Matcher {
  /** All ranges of a text that reveal a secret, in order. They neither overlap nor touch. */
  readonly find: (text: string) => ReadonlyArray<Range>
  readonly placeholder: string
}

export const matcher = (secrets: ReadonlyArray<string>): Matcher => {
  const needles = needlesOf(secrets)
  return { find: finder(needles), placeholder: placeholderFor(needles) }
}

const finder = (needles: ReadonlyArray<string>) => (text: string) => {
  const ranges: Array<Range> = []
  for (const view of viewsOf(text)) {
    for (const needle of needles) {
      for (let at = view.text.indexOf(needle); at !== -1; at = view.text.indexOf(needle, at + needle.length)) {
        ranges.push([view.from(at), view.to(at + needle.length - 1)])
      }
    }
  }
  return merge(ranges)
}

const merge = (ranges: ReadonlyArray<Range>): ReadonlyArray<Range> => {
  const merged: Array<Range> = []
  for (const range of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && range[0] <= last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], range[1])]
    else merged.push(range)
  }
  return merged
}

/** Whether placeholder and needle can overlap in a text, so that inserting the placeholder could create the needle. */
const canOverlap = (placeholder: string, needle: string): boolean => {
  if (needle.includes(placeholder) || placeholder.includes(needle)) return true
  for (let cut = 1; cut < placeholder.length; cut++) {
    if (needle.startsWith(placeholder.slice(cut)) || needle.endsWith(placeholder.slice(0, cut))) return true
  }
  return false
}

/**
 * Chooses the text that replaces secrets. A secret can be any text, also a part of the usual placeholder: then a character that
 * no secret contains is used.
 */
const placeholderFor = (needles: ReadonlyArray<string>): string => {
  const fits = (placeholder: string) => !needles.some((needle) => canOverlap(placeholder, needle))
  let placeholder = "[redacted]"
  for (let codePoint = 0x2588; !fits(placeholder); codePoint++) placeholder = String.fromCodePoint(codePoint)
  return placeholder
}
