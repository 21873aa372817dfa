/**
 * Approving of what project files say, and taking that back.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { EditRefused } from "../domain/Errors.js"
import * as Files from "./files.js"
import type { Surroundings } from "./Host.js"
import * as Layer from "./Layer.js"
import { load } from "./load.js"
import * as TrustStore from "./TrustStore.js"

/** Approves of everything that project files say now, or of what one of them says. */
export const trust = (
  surroundings: Surroundings,
  file: string | undefined
): Effect.Effect<ReadonlyArray<{ readonly file: string; readonly servers: ReadonlyArray<string> }>, EditRefused> =>
  Effect.gen(function* () {
    const { broken, reads } = yield* load(surroundings, {})
    const asked = reads.filter(({ layer }) => Layer.needsTrust(layer) && (file === undefined || layer.name === file))
    const grants = asked.flatMap(({ content, layer, realPath }) =>
      Either.isRight(content)
        ? [
            {
              name: layer.name,
              file: realPath,
              content: content.right,
              servers: [...content.right.servers.keys()],
              settings: true
            }
          ]
        : []
    )
    // whoever approves of all of them does not mean what is left of them
    const unreadable = asked.find(({ content }) => Either.isLeft(content))?.layer.name
    if (unreadable !== undefined) {
      const issues = broken.get(unreadable) ?? []
      return yield* new EditRefused({ file: unreadable, reason: "it cannot be read", issues })
    }
    if (file !== undefined && grants.length === 0) {
      return yield* new EditRefused({ file, reason: "it is no project file of this directory", issues: [] })
    }
    const target = TrustStore.fileIn(surroundings.stateDir)
    yield* Effect.mapError(
      TrustStore.approve(surroundings.stateDir, grants),
      (reason) => new EditRefused({ file: target, reason, issues: [] })
    )
    return grants.map(({ name, servers }) => ({ file: name, servers }))
  })

/** Takes back every approval of a project file. */
export const distrust = (surroundings: Surroundings, file: string): Effect.Effect<void, EditRefused> =>
  Effect.flatMap(Files.realPath(file), (realPath) => TrustStore.revoke(surroundings.stateDir, realPath)).pipe(
    Effect.mapError((reason) => new EditRefused({ file, reason, issues: [] }))
  )
