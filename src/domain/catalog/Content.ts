/**
 * Formats MCP content as text for people and models.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"

/**
 * @since 0.1.0
 * @category models
 */
export interface FormatOptions {
  /** The maximum length of the text in UTF-16 units, including the notice about a cut. Defaults to 100,000. */
  readonly limit?: number | undefined
}

const defaultLimit = 100_000

/**
 * Formats a list of content blocks: text unchanged; media, resources, links and unknown blocks as a short label; joined by
 * newlines. Never throws. A text over the limit ends with a notice that states how much is missing, and is never cut inside a
 * character.
 *
 * @since 0.1.0
 * @category formatting
 */
export const formatContent = (content: ReadonlyArray<unknown>, options?: FormatOptions): string => {
  const limit = options?.limit ?? defaultLimit
  let beginning = ""
  let length = 0
  for (const [index, block] of content.entries()) {
    const text = `${index === 0 ? "" : "\n"}${formatBlock(block)}`
    length += text.length
    // blocks after the limit are not shown
    if (beginning.length <= limit) beginning += text
  }
  return shorten(beginning, length, limit)
}

const formatBlock = (block: unknown): string => {
  if (!Predicate.isRecord(block)) return "[unknown]"
  const type = text(block.type) ?? "unknown"
  switch (type) {
    case "text":
      return text(block.text) ?? label("text")
    case "image":
      return label("Image", text(block.mimeType))
    case "audio":
      return label("Audio", text(block.mimeType))
    case "resource":
      return label("Resource", text(Predicate.isRecord(block.resource) ? block.resource.uri : block.uri))
    case "resource_link":
      return label(
        "Link",
        [text(block.title) ?? text(block.name), text(block.uri)].filter(Predicate.isNotUndefined).join(" ")
      )
    default:
      return label(type)
  }
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const label = (kind: string, detail?: string): string => (detail ? `[${kind}: ${detail}]` : `[${kind}]`)

/**
 * Shortens a text to at most `limit` characters, including the notice, without cutting a code point in half.
 *
 * @since 0.1.0
 * @category formatting
 */
export const truncate = (full: string, limit: number): string => shorten(full, full.length, limit)

/** Shortens a text of which only the beginning is given. */
const shorten = (beginning: string, length: number, limit: number): string => {
  const room = limit >= 0 ? Math.floor(limit) : 0
  if (length <= room) return beginning
  // reserves room for the longest notice, which is the one for a text that is cut completely
  const reserved = notice(length).length
  if (room < reserved) return beginning.slice(0, boundary(beginning, room))
  const kept = boundary(beginning, room - reserved)
  return beginning.slice(0, kept) + notice(length - kept)
}

const notice = (missing: number): string => `\n[… ${missing} more characters]`

/** The last index at or before `index` that is not inside a surrogate pair. */
const boundary = (full: string, index: number): number => {
  const insidePair = isHighSurrogate(full.charCodeAt(index - 1)) && isLowSurrogate(full.charCodeAt(index))
  return insidePair ? index - 1 : index
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
