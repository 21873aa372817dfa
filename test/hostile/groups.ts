/** The catalogue as groups of servers that run in one supervisor at once. */
import { httpFloods, httpModes, type Mode, payloadModes, stdioFloods, stdioModes } from "./modes.js"
import type { Subject, Transport } from "./observe.js"

const isLarge = process.env.HOSTILE === "large"

const over = (transport: Transport, modes: ReadonlyArray<Mode>): ReadonlyArray<Subject> =>
  modes.map((mode) => ({ ...mode, transport, ...(isLarge && mode.large !== undefined ? { size: mode.large } : {}) }))

const chunks = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

export const transports = [...over("stdio", stdioModes), ...over("http", httpModes)]
export const payloads = (transport: Transport) => over(transport, payloadModes)
export const floods = [...over("stdio", stdioFloods), ...over("http", httpFloods)]
export const floodGroups = (size: number) => chunks(floods, size)

/** Large payloads take more memory by themselves, one after the other, than small ones all at once. */
export const groupsOf = (subjects: ReadonlyArray<Subject>): ReadonlyArray<ReadonlyArray<Subject>> =>
  isLarge ? chunks(subjects, 1) : [subjects]
