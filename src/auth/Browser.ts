/**
 * How a page is put before a person. Only a login that somebody asked for does it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Shows the page at this address, or tells where it is. The address is a secret: it goes into no log. */
  readonly open: (url: string) => Effect.Effect<void>
}

/** Nobody is there to see a page. */
export const none: Service = { open: () => Effect.void }

/**
 * Defaults to none: `login` says so, and `startLogin` gives the address to whoever can show it.
 *
 * @since 0.1.0
 * @category tags
 */
export class Browser extends Context.Reference<Browser>()("mcp-supervisor/Browser", {
  defaultValue: (): Service => none
}) {}

/**
 * The browser of this machine. Where there is none, as over SSH or in a container, the address is written to stderr, with what
 * to do with it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNode: Layer.Layer<never> = Layer.succeedContext(
  Context.make(Browser, {
    open: (url) =>
      isHeadless(process.env, process.platform)
        ? print(url)
        : Effect.tryPromise(async () => {
            // it takes its time to load, and most processes never log anybody in
            const { default: open } = await import("open")
            const child = await open(url)
            child.on("error", () => {})
            child.unref()
          }).pipe(Effect.catchAll(() => print(url)))
  })
)

/** Whether nobody sits before this machine. */
export const isHeadless = (env: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): boolean => {
  const has = (name: string) => (env[name] ?? "") !== ""
  if (has("SSH_CONNECTION") || has("SSH_TTY") || has("CI")) return !has("DISPLAY")
  return platform === "linux" && !has("DISPLAY") && !has("WAYLAND_DISPLAY") && !has("WSL_DISTRO_NAME")
}

/** What somebody is told who has to find a browser himself. Nothing here reads what is typed: the program takes the answer. */
export const instructions = (url: string): string =>
  `Open this address in a browser to log in:\n\n  ${url}\n\n` +
  "If that browser is on another machine, it will end at an address it cannot reach. That address finishes the login: hand it " +
  "to the program that asked for it (McpAuth.finishLogin).\n"

const print = (url: string): Effect.Effect<void> => Effect.sync(() => void process.stderr.write(instructions(url)))
