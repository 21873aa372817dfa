/** Groups the servers of the catalogue that run in one supervisor at once. */
import { httpFloods, httpModes, type Mode, payloadModes, stdioFloods, stdioModes } from "./modes.js"
import type { Subject, Transport } from "./observe.js"

const over = (transport: Transport, modes: ReadonlyArray<Mode>): ReadonlyArray<Subject> =>
  modes.map((mode) => ({ ...mode, transport }))

export const chunks = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

export const transports = [...over("stdio", stdioModes), ...over("http", httpModes)]
export const payloads = [...over("stdio", payloadModes), ...over("http", payloadModes)]
export const floods = [...over("stdio", stdioFloods), ...over("http", httpFloods)]

/** The modes with a large size, in that size. */
export const largeOnes = (subjects: ReadonlyArray<Subject>): ReadonlyArray<Subject> =>
  subjects.flatMap((subject) =>
    subject.large === undefined || subject.large === subject.size ? [] : [{ ...subject, size: subject.large }]
  )
