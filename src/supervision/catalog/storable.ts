/**
 * Removes the secrets of a server's config from its listings before they are written to disk. A server may repeat the
 * secrets it was given in names, texts and schemas.
 */
import * as Predicate from "effect/Predicate"
import type { Listings } from "../../domain/catalog/Catalog.js"
import * as Secrets from "../../domain/Secrets.js"
import { secrets, type ServerConfig } from "../../domain/server/ServerConfig.js"

/** Shorter values are not removed: they are often ordinary words, and removing those would break schemas. */
const minLength = 8

type ListingEntry = Readonly<Record<string, unknown>>

/**
 * Returns the listings without secrets, or the same object if they contain none. Titles and descriptions are scrubbed,
 * a schema with a secret is replaced by one that accepts every object, and an entry with a secret in its name or
 * address is left out: the server lists it again when it starts.
 */
export const storable = (config: ServerConfig, listings: Listings): Listings => {
  const values = secrets(config).values.filter((value) => Secrets.reveal(value).length >= minLength)
  if (values.length === 0) return listings
  const spellings = values.map((value) => JSON.stringify(Secrets.reveal(value)).slice(1, -1))
  const hasSecret = (value: unknown): boolean => {
    const text = JSON.stringify(value) ?? ""
    return spellings.some((spelling) => text.includes(spelling))
  }
  if (!hasSecret(listings)) return listings
  const scrub = Secrets.scrub({ values })
  const clean = <A>(entries: ReadonlyArray<A>): ReadonlyArray<A> =>
    entries.flatMap((entry) =>
      hasSecret(entry) ? (cleanEntry(entry as ListingEntry, hasSecret, scrub) as ReadonlyArray<A>) : [entry]
    )
  return {
    tools: clean(listings.tools),
    resources: clean(listings.resources),
    resourceTemplates: clean(listings.resourceTemplates),
    prompts: clean(listings.prompts)
  }
}

/** The keys that identify an entry. */
const identifyingKeys = ["name", "uri", "uriTemplate"]

const cleanEntry = (
  entry: ListingEntry,
  holds: (value: unknown) => boolean,
  scrub: (text: string) => string
): ReadonlyArray<ListingEntry> => {
  if (identifyingKeys.some((id) => holds(entry[id]))) return []
  const cleanFields = Object.entries(entry).flatMap(([key, value]): ReadonlyArray<readonly [string, unknown]> => {
    if (!holds(key) && !holds(value)) return [[key, value]]
    if (key === "title" || key === "description") return [[key, scrub(String(value))]]
    if (key === "inputSchema") return [[key, { type: "object" }]]
    // A prompt needs the names of its arguments; their descriptions may be dropped.
    return key === "arguments" && Array.isArray(value) ? [[key, cleanArguments(value, holds)]] : []
  })
  return [Object.fromEntries(cleanFields)]
}

const cleanArguments = (args: ReadonlyArray<unknown>, holds: (value: unknown) => boolean): ReadonlyArray<unknown> =>
  args
    .filter(Predicate.isRecord)
    .filter(({ name }) => !holds(name))
    .map((argument) => (holds(argument) ? { name: argument.name, required: argument.required } : argument))
