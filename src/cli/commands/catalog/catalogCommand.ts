/**
 * What `tools`, `resources` and `prompts` have in common.
 */
import * as Effect from "effect/Effect"
import type { SupervisorHandle } from "../../supervisor/SupervisorHandle.js"
import { Screen } from "../../terminal/Screen.js"
import { isUsable } from "../../../domain/server/ServerStatus.js"
import type { Shared } from "../../words/spec.js"
import type { Style } from "../../terminal/style.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

type Catalog = Effect.Effect.Success<SupervisorHandle["catalog"]>

interface Kind<Item> {
  /** What it is called, if there is none. */
  readonly noun: string
  readonly of: (catalog: Catalog) => ReadonlyArray<Item>
  readonly table: (
    items: ReadonlyArray<Item>,
    options: { readonly style: Style; readonly width: number | undefined }
  ) => ReadonlyArray<string>
}

/** Shows what there is of a kind, of one server or all. The exit code is 3 if a server was named that is not usable. */
export const catalogCommand = <Item extends { readonly server: string }>(
  input: Shared & { readonly server: string | undefined },
  { noun, of, table }: Kind<Item>
) => {
  const { json, server } = input
  return withSupervisor(input, { only: server === undefined ? undefined : [server] }, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const named = server === undefined ? undefined : yield* screen.busy("connecting", handle.server(server))
      const all = of(yield* screen.busy("connecting", handle.catalog))
      const chosen = server === undefined ? all : all.filter((each) => each.server === server)
      const code = named !== undefined && chosen.length === 0 && !isUsable(named.status) ? 3 : 0
      if (code !== 0) yield* screen.note(`${server} is not usable: mcp-supervisor status ${server} says why`)
      if (json) return yield* Effect.as(screen.json(chosen), code)
      if (chosen.length === 0 && code === 0) yield* screen.note(`no ${noun}`)
      if (chosen.length > 0) yield* screen.out(table(chosen, { style: screen.style, width: screen.width() }).join("\n"))
      return code
    })
  )
}
