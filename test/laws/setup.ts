import { FastCheck as fc } from "effect"
import { runs } from "./runs.js"

fc.configureGlobal(runs(100))
