/**
 * Port that shows a login page to the user. Only a login that the user requested opens a page.
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
  /** Shows the page at this address, or prints the address. The address is a secret and must not be logged. */
  readonly open: (url: string) => Effect.Effect<void>
}

/** No browser is available. */
export const none: Service = { open: () => Effect.void }

/**
 * Defaults to none: then `login` fails, and `startLogin` returns the address.
 *
 * @since 0.1.0
 * @category tags
 */
export class Browser extends Context.Reference<Browser>()("mcp-supervisor/Browser", {
  defaultValue: (): Service => none
}) {}

/**
 * Opens the browser of this machine. If there is none, as over SSH or in a container, it writes the address and
 * instructions to stderr.
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
            // Loaded on demand: the module loads slowly, and most processes need no login.
            const { default: open } = await import("open")
            const child = await open(url)
            child.on("error", () => {})
            child.unref()
          }).pipe(Effect.catchAll(() => print(url)))
  })
)

/** Whether this machine has no display for a browser. */
export const isHeadless = (env: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): boolean => {
  const has = (name: string) => (env[name] ?? "") !== ""
  if (has("SSH_CONNECTION") || has("SSH_TTY") || has("CI")) return !has("DISPLAY")
  return platform === "linux" && !has("DISPLAY") && !has("WAYLAND_DISPLAY") && !has("WSL_DISTRO_NAME")
}

/**
 * The instructions for a user who opens the address in another browser. Nothing reads the terminal: the program passes
 * the callback on.
 */
export const instructions = (url: string): string =>
  `Open this address in a browser to log in:\n\n  ${url}\n\n` +
  "If that browser is on another machine, it will end at an address it cannot reach. That address finishes the login: hand it " +
  "to the program that asked for it (McpAuth.finishLogin).\n"

const print = (url: string): Effect.Effect<void> => Effect.sync(() => void process.stderr.write(instructions(url)))
