/** Makes tools for listings, and reads names and diagnostics from a listing. */
import { assert } from "@effect/vitest"
import * as Listing from "../../../src/domain/catalog/Listing.js"

export const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more })

/** Code, subject, path and severity of diagnostics, without the message. */
export const facts = ({ diagnostics }: Listing.Listing<unknown>) =>
  diagnostics.map(({ code, path, severity, subject }) => [severity, code, subject, path])

export const messages = ({ diagnostics }: Listing.Listing<unknown>) => diagnostics.map(({ message }) => message)

export const names = ({ items }: Listing.Listing<{ readonly name: string }>) => items.map(({ name }) => name)

/** Checks that an entry is kept unchanged. */
export const assertUntouched = (listing: Listing.Listing<unknown>, entries: ReadonlyArray<unknown>) => {
  assert.deepStrictEqual(facts(listing), [])
  assert.strictEqual(listing.items.length, entries.length)
  for (const [index, item] of listing.items.entries()) assert.strictEqual(item, entries[index])
}
