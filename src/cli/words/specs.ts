/**
 * Lists the specs of all commands, in the order of the help page.
 */
import { spec as add } from "../commands/config/add.js"
import { spec as auth } from "../commands/login/auth.js"
import { spec as call } from "../commands/catalog/call.js"
import { spec as completions } from "../commands/completions.js"
import { spec as config } from "../commands/config/config.js"
import { spec as connect } from "../commands/servers/connect.js"
import { spec as debug } from "../commands/login/debug.js"
import { spec as disable } from "../commands/config/disable.js"
import { spec as disconnect } from "../commands/servers/disconnect.js"
import { spec as enable } from "../commands/config/enable.js"
import { spec as events } from "../commands/daemon/events.js"
import { spec as imported } from "../commands/config/import.js"
import { spec as list } from "../commands/servers/list.js"
import { spec as logout } from "../commands/login/logout.js"
import { spec as logs } from "../commands/servers/logs.js"
import { spec as prompt } from "../commands/catalog/prompt.js"
import { spec as prompts } from "../commands/catalog/prompts.js"
import { spec as read } from "../commands/catalog/read.js"
import { spec as reload } from "../commands/daemon/reload.js"
import { spec as remove } from "../commands/config/remove.js"
import { spec as resources } from "../commands/catalog/resources.js"
import { spec as restart } from "../commands/servers/restart.js"
import { spec as serve } from "../commands/daemon/serve.js"
import { spec as start } from "../commands/daemon/start.js"
import { spec as status } from "../commands/servers/status.js"
import { spec as stop } from "../commands/daemon/stop.js"
import { spec as test } from "../commands/login/test.js"
import { spec as tools } from "../commands/catalog/tools.js"
import { spec as trust } from "../commands/config/trust.js"

export const specs = [
  list,
  status,
  tools,
  resources,
  prompts,
  logs,
  events,
  test,
  call,
  read,
  prompt,
  add,
  remove,
  enable,
  disable,
  imported,
  trust,
  config,
  connect,
  disconnect,
  restart,
  reload,
  auth,
  logout,
  debug,
  serve,
  start,
  stop,
  completions
] as const

type Specs = { readonly [S in (typeof specs)[number] as S["name"]]: S }

export type CommandName = keyof Specs

export type SpecOf<Name extends CommandName> = Specs[Name]
