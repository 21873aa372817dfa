/**
 * Finds the home directory of the user.
 */
import { homedir, userInfo } from "node:os"
import { isAbsolute } from "node:path"

/**
 * The home directory as an absolute path. `HOME` is used only if it is absolute, otherwise the user database. Throws if the user
 * has no home directory.
 */
export const homeDirectory = (): string => {
  const home = homedir()
  if (isAbsolute(home)) return home
  const { homedir: registered } = userInfo()
  if (isAbsolute(registered)) return registered
  throw new Error("the user has no home directory")
}
