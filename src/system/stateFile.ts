/**
 * The files of the state directory: JSON with a version, readable and writable by the user alone, replaced as a whole.
 */
import { rm } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { readOwn } from "./ownership.js"
import { codeOf, create as makeWhole, replace } from "./wholeFile.js"

/** The version that we write, and the only one that we read. */
export const version = 1

export type Found =
  | { readonly _tag: "Absent" }
  /** The system rejects it, or other users could have written it: see `ownership.ts`. */
  | { readonly _tag: "Unreadable"; readonly code: string }
  /** Nothing that one of us has written, or not the whole of it. */
  | { readonly _tag: "Corrupt" }
  /** Written by a later one of us: not to be touched. */
  | { readonly _tag: "Newer" }
  | { readonly _tag: "Found"; readonly content: unknown }

/** What a file says. One that is larger than the limit is none of ours. */
export const read = (path: string, maxBytes: number): Effect.Effect<Found> =>
  Effect.tryPromise({ try: () => readOwn(path, maxBytes), catch: codeOf }).pipe(
    Effect.map(parse),
    Effect.catchAll((code) =>
      Effect.succeed<Found>(code === "ENOENT" ? { _tag: "Absent" } : { _tag: "Unreadable", code })
    )
  )

const parse = (text: string): Found => {
  try {
    const content: unknown = JSON.parse(text)
    if (!Predicate.hasProperty(content, "version") || typeof content.version !== "number") return { _tag: "Corrupt" }
    if (content.version > version) return { _tag: "Newer" }
    return content.version === version ? { _tag: "Found", content } : { _tag: "Corrupt" }
  } catch {
    return { _tag: "Corrupt" }
  }
}

/**
 * Puts a file in place of the one that is there, if there is one. Missing directories are made. Fails with what the system
 * calls the error.
 */
export const write = (path: string, text: string): Effect.Effect<void, string> => replace(path, text)

/** Makes a file unless there is one already, which then stays: of several who try at once, one succeeds. */
export const create = (path: string, text: string): Effect.Effect<void, string> => Effect.asVoid(makeWhole(path, text))

/** Takes a file away, if it is there and can be. */
export const remove = (path: string): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise({ try: () => rm(path, { force: true }), catch: codeOf }))
