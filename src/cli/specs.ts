/**
 * All commands there are, in the order in which help shows them.
 */
import { spec as add } from "./commands/add.js"
import { spec as auth } from "./commands/auth.js"
import { spec as call } from "./commands/call.js"
import { spec as completions } from "./commands/completions.js"
import { spec as config } from "./commands/config.js"
import { spec as connect } from "./commands/connect.js"
import { spec as debug } from "./commands/debug.js"
import { spec as disable } from "./commands/disable.js"
import { spec as disconnect } from "./commands/disconnect.js"
import { spec as enable } from "./commands/enable.js"
import { spec as events } from "./commands/events.js"
import { spec as imported } from "./commands/import.js"
import { spec as list } from "./commands/list.js"
import { spec as logout } from "./commands/logout.js"
import { spec as logs } from "./commands/logs.js"
import { spec as prompt } from "./commands/prompt.js"
import { spec as prompts } from "./commands/prompts.js"
import { spec as read } from "./commands/read.js"
import { spec as reload } from "./commands/reload.js"
import { spec as remove } from "./commands/remove.js"
import { spec as resources } from "./commands/resources.js"
import { spec as restart } from "./commands/restart.js"
import { spec as serve } from "./commands/serve.js"
import { spec as start } from "./commands/start.js"
import { spec as status } from "./commands/status.js"
import { spec as stop } from "./commands/stop.js"
import { spec as test } from "./commands/test.js"
import { spec as tools } from "./commands/tools.js"
import { spec as trust } from "./commands/trust.js"
import type { Spec } from "./spec.js"

export const specs: ReadonlyArray<Spec> = [
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
]
