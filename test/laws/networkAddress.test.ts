import { describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { judge, judgeAddress, policyFor, zoneOfAddress, zoneOfHost } from "../../src/domain/NetworkAddress.js"
import { runs } from "./runs.js"

const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
const dotted = (bytes: ReadonlyArray<number>) => bytes.join(".")
const number = (bytes: ReadonlyArray<number>) => bytes.reduce((all, byte) => all * 256 + byte, 0)
const hex = (value: number) => `0x${value.toString(16)}`

/** An address in the spellings of other programs. */
const spellings = (bytes: ReadonlyArray<number>): ReadonlyArray<string> => {
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const groups = [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16)).join(":")
  return [
    String(number(bytes)),
    hex(number(bytes)),
    bytes.map(hex).join("."),
    bytes.map((byte) => `0${byte.toString(8)}`).join("."),
    `${a}.${b}.${c * 256 + d}`,
    `::ffff:${dotted(bytes)}`,
    `0:0:0:0:0:FFFF:${groups}`,
    `64:ff9b::${groups}`,
    `2002:${groups}::1`
  ]
}

describe("the zone of an address", () => {
  it("does not depend on the spelling of the address", () =>
    fc.assert(
      fc.property(ipv4, (bytes) => {
        const zone = zoneOfAddress(dotted(bytes))
        return spellings(bytes).every((text) => {
          const { hostname } = new URL(`http://${text.includes(":") ? `[${text}]` : text}/`)
          return zoneOfAddress(text) === zone && zoneOfHost(hostname) === zone
        })
      }),
      runs(500)
    ))

  it("is defined for every text", () =>
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()), (text) =>
        ["public", "private", "link", "machine"].includes(zoneOfAddress(text))
      ),
      runs(500)
    ))
})

describe("a server on the internet", () => {
  const policy = policyFor({ url: "https://mcp.example.com/mcp", privateNetwork: false })

  it("reaches public addresses over https only", () =>
    fc.assert(
      fc.property(fc.oneof(ipv4.map(dotted), fc.ipV6()), fc.constantFrom("http:", "https:"), (address, protocol) => {
        const isAllowed = protocol === "https:" && zoneOfAddress(address) === "public"
        const url = new URL(`${protocol}//${address.includes(":") ? `[${address}]` : address}/`)
        return (
          (judgeAddress(policy, protocol, address) === "allowed") === isAllowed &&
          (judge(policy, url) === "allowed") === isAllowed
        )
      }),
      runs(500)
    ))
})
