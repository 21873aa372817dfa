import type { LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { AddressRefused, guardedLookup, refusalAhead, refusalOf } from "../../src/connection/http/OutboundGuard.js"
import { policyFor } from "../../src/domain/NetworkAddress.js"

const remote = policyFor({ url: "https://mcp.example.com/mcp", privateNetwork: false })
const inNetwork = policyFor({ url: "http://192.168.1.5/mcp", privateNetwork: false })

const addresses = (...texts: ReadonlyArray<string>): Array<LookupAddress> =>
  texts.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))

const lookupOf =
  (found: Array<LookupAddress> | Error): LookupFunction =>
  (_, options, callback) => {
    assert.isTrue(options.all)
    if (found instanceof Error) callback(found, [])
    else callback(null, found)
  }

const ask = (lookup: LookupFunction, all: boolean) =>
  new Promise((resolve) => lookup("as.example", { all }, (error, ...found) => resolve(error === null ? found : error)))

describe("a guarded DNS lookup", () => {
  it("returns only the allowed addresses of a name", async () => {
    const lookup = guardedLookup(remote, "https:", lookupOf(addresses("127.0.0.1", "8.8.8.8", "::1", "2606:4700::1")))
    assert.deepStrictEqual(await ask(lookup, true), [addresses("8.8.8.8", "2606:4700::1")])
    assert.deepStrictEqual(await ask(lookup, false), ["8.8.8.8", 4])
  })

  it("fails if no address is allowed, and passes on errors of the system", async () => {
    const refusal = async (found: ReadonlyArray<string>, protocol: string, policy = remote) =>
      ((await ask(guardedLookup(policy, protocol, lookupOf(addresses(...found))), true)) as AddressRefused).verdict
    assert.strictEqual(await refusal(["127.0.0.1", "10.0.0.1"], "https:"), "too_near")
    assert.strictEqual(await refusal([], "https:"), "too_near")
    assert.strictEqual(await refusal(["8.8.8.8"], "http:", inNetwork), "unencrypted")
    const unknown = new Error("ENOTFOUND")
    assert.strictEqual(await ask(guardedLookup(remote, "https:", lookupOf(unknown)), true), unknown)
  })
})

describe("a request through a proxy or a browser", () => {
  const verdict = async (url: string, found: Array<LookupAddress> | Error, policy = remote) =>
    (await refusalAhead(policy, lookupOf(found), new URL(url)))?.verdict

  it("is rejected if any address of the name is not allowed", async () => {
    assert.strictEqual(await verdict("https://as.example/", addresses("8.8.8.8", "127.0.0.1")), "too_near")
    assert.isUndefined(await verdict("https://as.example/", addresses("8.8.8.8")))
  })

  it("is allowed over https if the name cannot be resolved here", async () => {
    const unknown = new Error("ENOTFOUND")
    assert.isUndefined(await verdict("https://as.example/", unknown))
    assert.strictEqual(await verdict("http://as.example/", unknown, inNetwork), "unencrypted")
    assert.isUndefined(await verdict("http://auth/", unknown, inNetwork))
    assert.strictEqual(await verdict("http://auth/", addresses("127.0.0.1"), inNetwork), "too_near")
    assert.strictEqual(await verdict("https://127.0.0.1/", unknown), "too_near")
    assert.strictEqual(await verdict("https://localhost/", unknown), "too_near")
  })

  it("is not delayed by a lookup that never completes", async () => {
    const refusal = await refusalAhead(remote, () => {}, new URL("https://as.example/"), 1)
    assert.isUndefined(refusal)
  })

  it("names the rejected address", () => {
    const refusal = refusalOf(remote, new URL("http://127.0.0.1:3000/secret"))
    assert.instanceOf(refusal, AddressRefused)
    assert.include((refusal as AddressRefused).message, "127.0.0.1 is an address of this machine")
    assert.include((refusalOf(remote, new URL("http://8.8.8.8/")) as AddressRefused).message, "not encrypted")
  })
})
