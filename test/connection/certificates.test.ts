import { rootCertificates } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { certificates } from "../../src/connection/http/certificates.js"
import * as Failure from "../../src/domain/server/Failure.js"

const failing = (file: string, code: string) => (name: string) =>
  name === file ? Promise.reject(Object.assign(new Error(code), { code })) : Promise.resolve(`in ${name}`)

const read = (read: (file: string) => Promise<string>) =>
  certificates({ server: "it", caFile: "own", extraFile: "extra", read })

describe("the trusted certificates", () => {
  it.effect("are those of Node.js and of both files", () =>
    Effect.gen(function* () {
      const all = yield* read((file) => Promise.resolve(`in ${file}`))
      assert.deepStrictEqual(all.slice(rootCertificates.length), ["in own", "in extra"])
    })
  )

  it.effect("do without an extra file that is missing", () =>
    Effect.gen(function* () {
      const all = yield* read(failing("extra", "ENOENT"))
      assert.deepStrictEqual(all.slice(rootCertificates.length), ["in own"])
    })
  )

  it.effect("cannot be read if a file that the config names is missing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read(failing("own", "ENOENT")))
      assert.include(error, { code: "ENOENT", permanent: true })
    })
  )

  for (const file of ["own", "extra"]) {
    for (const code of ["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]) {
      it.effect(`fail with a transient error in a shortage on our side: ${code}, ${file}`, () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(read(failing(file, code)))
          assert.include(error, { code, permanent: false })
          assert.strictEqual(Failure.fromError(error).kind, "shortage")
        })
      )
    }
  }
})
