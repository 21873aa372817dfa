import { FastCheck as fc } from "effect"
import { afterEach } from "vitest"
import { nextTurn, runs } from "./runs.js"

fc.configureGlobal(runs(100))

// laws are synchronous: without a turn of the event loop, a worker does not read the responses of vitest within their time limit
afterEach(nextTurn)
