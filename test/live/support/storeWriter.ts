/**
 * A program that changes kept logins again and again, to be killed and stopped while it does. Arguments: the state directory,
 * its own name, the number of the first change and that of the last. It says the number of each change that is done.
 */
import { Effect, Option } from "effect"
import * as FileCredentialStore from "../../../src/auth/tokens/FileCredentialStore.js"

const [, , stateDir = "", name = "", first = "1", last = "0"] = process.argv

const shared = { server: "shared", serverUrl: "http://127.0.0.1/shared" }
const own = { server: name, serverUrl: "http://127.0.0.1/own" }

const program = Effect.gen(function* () {
  const store = yield* FileCredentialStore.make(stateDir)
  process.stdout.write("ready\n")
  for (let number = Number(first); number <= Number(last); number += 1) {
    const word = `${name}-${number}`
    const update = Effect.gen(function* () {
      const found = Option.getOrUndefined(yield* store.load(shared))
      const words = (found?.tokens?.scope ?? "").split(" ").filter((each) => each !== "")
      // what was done and not said is not done twice
      const next = words.includes(word) ? words : [...words, word]
      yield* store.save(shared, Option.some({ ...shared, tokens: { accessToken: "shared", scope: next.join(" ") } }))
    })
    yield* store.exclusively(shared)(update)
    // somebody else's lock, the same file
    yield* store.exclusively(own)(
      store.save(own, Option.some({ ...own, tokens: { accessToken: "own", expiresAt: number } }))
    )
    process.stdout.write(`${number}\n`)
  }
})

await Effect.runPromise(program)
