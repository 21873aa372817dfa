/**
 * Resolves the directories and config files of a command from its options and the environment.
 */
import { surroundings } from "../../config/ConfigHost.js"
import type { Shared } from "../words/spec.js"

export const hostOf = ({ config, cwd, stateDir }: Pick<Shared, "config" | "cwd" | "stateDir">) => {
  const found = surroundings({ cwd, files: config, stateDir })
  return { cwd: found.cwd, files: found.files, stateDir: found.stateDir }
}
