/**
 * Removes secrets from names in events: a server may put a secret of its config into a tool's name.
 */
import * as Secrets from "../domain/Secrets.js"
import { secrets, type ServerConfig } from "../domain/server/ServerConfig.js"

/** Number of cached names for each config. Each call publishes an event, and a lookup is faster than scrubbing. */
const maxRemembered = 1_000

/** Longer names are not cached: tools do not have such names. */
const maxLength = 256

const scrubbers = new WeakMap<ServerConfig, (name: string) => string>()

/** The name without the secrets of the server's config. */
export const scrubName = (config: ServerConfig | undefined, name: string): string => {
  if (config === undefined) return name
  let scrub = scrubbers.get(config)
  if (scrub === undefined) {
    scrub = remembering(Secrets.scrub(secrets(config)))
    scrubbers.set(config, scrub)
  }
  return scrub(name)
}

const remembering = (scrub: (name: string) => string) => {
  const remembered = new Map<string, string>()
  return (name: string): string => {
    if (name.length > maxLength) return scrub(name)
    const known = remembered.get(name)
    if (known !== undefined) return known
    const scrubbed = scrub(name)
    if (remembered.size < maxRemembered) remembered.set(name, scrubbed)
    return scrubbed
  }
}
