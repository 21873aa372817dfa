/**
 * Lists as they may be written to disk: without the secrets of the server's config, which a server may repeat in them.
 */
import * as Predicate from "effect/Predicate"
import type { Listings } from "../../domain/catalog/Catalog.js"
import * as Secrets from "../../domain/Secrets.js"
import { secrets, type ServerConfig } from "../../domain/server/ServerConfig.js"

/** Shorter values are words of their own more often than secrets: hiding them would make schemas useless. */
const minLength = 8

type Entry = Readonly<Record<string, unknown>>

/**
 * The same lists where none of them holds a secret. Otherwise texts for people are scrubbed, a schema with a secret gives way
 * to one that allows everything, and an entry whose name or address has one is left out: the server lists it again when it
 * starts.
 */
export const storable = (config: ServerConfig, listings: Listings): Listings => {
  const values = secrets(config).values.filter((value) => Secrets.reveal(value).length >= minLength)
  if (values.length === 0) return listings
  const spellings = values.map((value) => JSON.stringify(Secrets.reveal(value)).slice(1, -1))
  const holds = (value: unknown): boolean => {
    const text = JSON.stringify(value) ?? ""
    return spellings.some((spelling) => text.includes(spelling))
  }
  if (!holds(listings)) return listings
  const scrub = Secrets.scrub({ values })
  const clean = <A>(entries: ReadonlyArray<A>): ReadonlyArray<A> =>
    entries.flatMap((entry) => (holds(entry) ? (cleaned(entry as Entry, holds, scrub) as ReadonlyArray<A>) : [entry]))
  return {
    tools: clean(listings.tools),
    resources: clean(listings.resources),
    resourceTemplates: clean(listings.resourceTemplates),
    prompts: clean(listings.prompts)
  }
}

/** Keys that entries are found by. */
const ids = ["name", "uri", "uriTemplate"]

const cleaned = (
  entry: Entry,
  holds: (value: unknown) => boolean,
  scrub: (text: string) => string
): ReadonlyArray<Entry> => {
  if (ids.some((id) => holds(entry[id]))) return []
  const kept = Object.entries(entry).flatMap(([key, value]): ReadonlyArray<readonly [string, unknown]> => {
    if (!holds(key) && !holds(value)) return [[key, value]]
    if (key === "title" || key === "description") return [[key, scrub(String(value))]]
    if (key === "inputSchema") return [[key, { type: "object" }]]
    // a prompt needs its arguments, but not what is said about them
    return key === "arguments" && Array.isArray(value) ? [[key, namesOf(value, holds)]] : []
  })
  return [Object.fromEntries(kept)]
}

const namesOf = (args: ReadonlyArray<unknown>, holds: (value: unknown) => boolean): ReadonlyArray<unknown> =>
  args
    .filter(Predicate.isRecord)
    .filter(({ name }) => !holds(name))
    .map((argument) => (holds(argument) ? { name: argument.name, required: argument.required } : argument))
