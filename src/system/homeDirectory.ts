/**
 * The home of the user.
 */
import { homedir, userInfo } from "node:os"
import { isAbsolute } from "node:path"

/** An absolute path. `HOME` counts only if it is one; otherwise the user database says. Throws for a user without a home. */
export const homeDirectory = (): string => {
  const found = homedir()
  if (isAbsolute(found)) return found
  const { homedir: registered } = userInfo()
  if (isAbsolute(registered)) return registered
  throw new Error("the user has no home directory")
}
