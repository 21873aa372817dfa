/**
 * Reads and writes files of the state directory: JSON with a version, for the user only, replaced as a whole.
 */
import { rm } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { readOwn } from "./ownership.js"
import { codeOf, create as createWhole, replace } from "./wholeFile.js"

/** The version that is written, and the only one that is read. */
export const version = 1

/** What reading a file returned. */
export type Found =
  | { readonly _tag: "Absent" }
  /** The system rejects the read, or other users could have written the file: see `ownership.ts`. */
  | { readonly _tag: "Unreadable"; readonly code: string }
  /** Not written by a supervisor, or incomplete. */
  | { readonly _tag: "Corrupt" }
  /** Written by a newer release: must not be changed. */
  | { readonly _tag: "Newer" }
  | { readonly _tag: "Found"; readonly content: unknown }

/** Reads a file. A file above the limit is `Corrupt`: no supervisor writes one. */
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
 * Writes a file, or replaces the existing one. Creates missing directories. Fails with the system's error code.
 */
export const write = (path: string, text: string): Effect.Effect<void, string> => replace(path, text)

/** Creates a file unless it exists; an existing file is not changed. If several processes try at once, one creates it. */
export const create = (path: string, text: string): Effect.Effect<void, string> =>
  Effect.asVoid(createWhole(path, text))

/** Deletes a file. Does nothing if it does not exist or cannot be deleted. */
export const remove = (path: string): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise({ try: () => rm(path, { force: true }), catch: codeOf }))
