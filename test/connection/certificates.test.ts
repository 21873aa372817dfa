import { rootCertificates } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { certificates } from "../../src/connection/http/certificates.js"
import * as Failure from "../../src/domain/server/Failure.js"

const failing = (file: string, code: string) => (name: string) =>
  name === file ? Promise.reject(Object.assign(new Error(code), { code })) : Promise.resolve(`in ${name}`)

const read = (read: (file: string) => Promise<string>) =>
  certificates({ server: "it", caFile: "own", extraFile: "extra", read })

describe("certificates", () => {
  it.effect("are those that Node.js trusts and those of both files", () =>
    Effect.gen(function* () {
      const all = yield* read((file) => Promise.resolve(`in ${file}`))
      assert.deepStrictEqual(all.slice(rootCertificates.length), ["in own", "in extra"])
    })
  )

  it.effect("of an extra file that is not there are left out", () =>
    Effect.gen(function* () {
      const all = yield* read(failing("extra", "ENOENT"))
      assert.deepStrictEqual(all.slice(rootCertificates.length), ["in own"])
    })
  )

  it.effect("of a file that the config names and that is not there are a failure", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read(failing("own", "ENOENT")))
      assert.include(error, { code: "ENOENT", permanent: true })
    })
  )

  for (const file of ["own", "extra"]) {
    for (const code of ["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]) {
      it.effect(`are waited for in a shortage on our side: ${code}, ${file}`, () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(read(failing(file, code)))
          assert.include(error, { code, permanent: false })
          assert.strictEqual(Failure.fromError(error).kind, "shortage")
        })
      )
    }
  }
})
