/**
 * Runs `tools`, `resources` and `prompts`.
 */
import * as Effect from "effect/Effect"
import type { SupervisorHandle } from "../../supervisor/SupervisorHandle.js"
import { Screen } from "../../terminal/Screen.js"
import { isUsable } from "../../../domain/server/ServerStatus.js"
import type { Shared } from "../../words/spec.js"
import type { Style } from "../../terminal/style.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

type Catalog = Effect.Effect.Success<SupervisorHandle["catalog"]>

interface CatalogKind<Item> {
  /** The plural, for the message that there are none. */
  readonly noun: string
  readonly select: (catalog: Catalog) => ReadonlyArray<Item>
  readonly table: (
    items: ReadonlyArray<Item>,
    options: { readonly style: Style; readonly width: number | undefined }
  ) => ReadonlyArray<string>
}

/** Lists one kind of the catalog, of one server or all. Returns 3 if the named server lists nothing and is not usable. */
export const catalogCommand = <Item extends { readonly server: string }>(
  input: Shared & { readonly server: string | undefined },
  { noun, select, table }: CatalogKind<Item>
) => {
  const { json, server } = input
  return withSupervisor(input, { only: server === undefined ? undefined : [server] }, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const named = server === undefined ? undefined : yield* screen.busy("connecting", handle.server(server))
      const all = select(yield* screen.busy("connecting", handle.catalog))
      const chosen = server === undefined ? all : all.filter((each) => each.server === server)
      const code = named !== undefined && chosen.length === 0 && !isUsable(named.status) ? 3 : 0
      if (code !== 0) yield* screen.note(`${server} is not usable; to see why: mcp-supervisor status ${server}`)
      if (json) return yield* Effect.as(screen.json(chosen), code)
      if (chosen.length === 0 && code === 0) yield* screen.note(`no ${noun}`)
      if (chosen.length > 0) yield* screen.out(table(chosen, { style: screen.style, width: screen.width() }).join("\n"))
      return code
    })
  )
}
