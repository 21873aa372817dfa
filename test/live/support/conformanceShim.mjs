// The suite imports `globSync` from "fs", which Node has from version 22 on, for a command that is not used here. Without
// it the suite does not even load.
import fs from "node:fs"
import { register } from "node:module"

const module = (source) => `data:text/javascript,${encodeURIComponent(source)}`

const complete = module(`
  import fs from "node:fs"
  export * from "node:fs"
  export default fs
  export const globSync = () => []
`)

const hooks = module(`
  export const resolve = (specifier, context, next) =>
    specifier === "fs" && /\\/@modelcontextprotocol\\/conformance[^/]*\\/dist\\//.test(context.parentURL)
      ? { url: ${JSON.stringify(complete)}, shortCircuit: true }
      : next(specifier, context)
`)

if (!("globSync" in fs)) register(hooks)
