/**
 * Reuses the objects of an older list where a newer one is equal, so that a comparison by identity finds only changes.
 */
import type { Listings } from "./model.js"
import { sameJson } from "./sameJson.js"

/**
 * The new listings, with the objects of the old ones where they are equal. If nothing differs, the old listings themselves.
 *
 * @since 0.1.0
 * @category listings
 */
export const retain = (before: Listings, after: Listings): Listings => {
  const retained: Listings = {
    tools: retainItems(before.tools, after.tools, ({ name }) => name),
    resources: retainItems(before.resources, after.resources, ({ uri }) => uri),
    resourceTemplates: retainItems(before.resourceTemplates, after.resourceTemplates, ({ uriTemplate }) => uriTemplate),
    prompts: retainItems(before.prompts, after.prompts, ({ name }) => name)
  }
  return [before, after].find((listings) => sameArrays(listings, retained)) ?? retained
}

const sameArrays = (a: Listings, b: Listings): boolean =>
  a.tools === b.tools &&
  a.resources === b.resources &&
  a.resourceTemplates === b.resourceTemplates &&
  a.prompts === b.prompts

/** Compares entries at the same position first, because most do not move; then entries with the same id. */
const retainItems = <A>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>,
  idOf: (item: A) => string
): ReadonlyArray<A> => {
  if (before === after) return before
  let byId: ReadonlyMap<string, A> | undefined
  const moved = (item: A): A | undefined => {
    byId ??= new Map(before.map((item) => [idOf(item), item]))
    return byId.get(idOf(item))
  }
  const retained = after.map((item, index) => {
    if (sameJson(before[index], item)) return before[index]!
    const candidate = moved(item)
    return sameJson(candidate, item) ? candidate! : item
  })
  return [before, after].find((items) => sameItems(items, retained)) ?? retained
}

/** Whether two lists contain identical objects in the same order. */
export const sameItems = <A>(a: ReadonlyArray<A>, b: ReadonlyArray<A>): boolean =>
  a === b || (a.length === b.length && a.every((item, index) => item === b[index]))
