import { assert, describe, it } from "@effect/vitest"
import {
  isLoopback,
  judge,
  judgeAddress,
  policyFor,
  type Zone,
  zoneOfAddress,
  zoneOfHost
} from "../../src/domain/NetworkAddress.js"

describe("the zone of an address", () => {
  const zones: Readonly<Record<Zone, ReadonlyArray<string>>> = {
    machine: [
      "127.0.0.1",
      "127.255.255.254",
      "0.0.0.0",
      "0.1.2.3",
      "::",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::127.0.0.1",
      "::ffff:0:127.0.0.1",
      "64:ff9b::127.0.0.1",
      "2002:7f00:1::",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "127.1",
      "::1%lo",
      "",
      "no address",
      "1.2.3.4.5",
      "8.8.8.8.example",
      "256.1.1.1",
      ":::",
      "12345::"
    ],
    link: [
      "169.254.169.254",
      "::ffff:169.254.169.254",
      "fe80::1",
      "fe80::1%eth0",
      "febf::1",
      "224.0.0.1",
      "255.255.255.255",
      "240.0.0.1",
      "ff02::1"
    ],
    private: [
      "10.0.0.1",
      "10.255.255.255",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "100.64.0.1",
      "100.127.255.255",
      "192.0.0.8",
      "192.0.2.1",
      "198.18.0.1",
      "198.19.255.255",
      "198.51.100.1",
      "203.0.113.1",
      "192.88.99.1",
      "fc00::1",
      "fd12:3456::1",
      "fec0::1",
      "::ffff:10.0.0.1",
      "64:ff9b::10.0.0.1",
      "64:ff9b:1::1",
      "2002:a00:1::",
      "2001::1",
      "2001:db8::1",
      "3fff::1",
      "100::1",
      "4000::1",
      "1:2:3:4:5:6:7:8"
    ],
    public: [
      "1.1.1.1",
      "8.8.8.8",
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "126.255.255.255",
      "128.0.0.0",
      "169.253.255.255",
      "169.255.0.0",
      "172.15.255.255",
      "172.32.0.0",
      "192.167.255.255",
      "192.169.0.0",
      "198.17.255.255",
      "198.20.0.0",
      "223.255.255.255",
      "2606:4700::1111",
      "2a00:1450::1",
      "::ffff:8.8.8.8",
      "64:ff9b::8.8.8.8",
      "2002:808:808::",
      "2001:4860::1",
      "2001:200::"
    ]
  }
  for (const [zone, addresses] of Object.entries(zones)) {
    it(`is ${zone}`, () => {
      for (const address of addresses) assert.strictEqual(zoneOfAddress(address), zone, address)
    })
  }

  it("of a host in a URL is known if the host is an address or a special name", () => {
    const hosts: ReadonlyArray<readonly [string, Zone | undefined]> = [
      ["localhost", "machine"],
      ["LOCALHOST.", "machine"],
      ["a.b.localhost", "machine"],
      ["2130706433", "machine"],
      ["0x7f000001", "machine"],
      ["017700000001", "machine"],
      ["%31%32%37.0.0.1", "machine"],
      ["１２７.０.０.１", "machine"],
      ["127.0.0.1.", "machine"],
      ["[::ffff:127.0.0.1]", "machine"],
      ["[fe80::1]", "link"],
      ["auth", "private"],
      ["printer.local", "private"],
      ["idp.corp.internal.", "private"],
      ["nas.home.arpa", "private"],
      ["8.8.8.8", "public"],
      ["localhost.example.com", undefined],
      ["127.0.0.1.nip.io", undefined],
      ["10.example", undefined]
    ]
    for (const [host, zone] of hosts) assert.strictEqual(zoneOfHost(new URL(`http://${host}/`).hostname), zone, host)
  })
})

describe("isLoopback", () => {
  it("accepts every spelling of an address that only this machine reaches", () => {
    for (const host of ["localhost", "LocalHost", "a.localhost", "127.0.0.1", "127.10.200.3", "::1", "[::1]"])
      assert.isTrue(isLoopback(host), host)
    for (const host of [
      "0.0.0.0",
      "::",
      "localhost.evil.test",
      "127.0.0.1.evil.test",
      "10.0.0.1",
      "[::2]",
      "127.1",
      "1127.0.0.1",
      "local[host",
      "local]host",
      ""
    ])
      assert.isFalse(isLoopback(host), host)
  })
})

describe("the address policy", () => {
  const policy = (url: string, privateNetwork = false, configured?: ReadonlyArray<string>) =>
    policyFor({ url, privateNetwork, configured })
  const verdict = (of: ReturnType<typeof policy>, url: string) => judge(of, new URL(url))

  it("of a server on the internet allows https to the internet, and the config's own addresses", () => {
    const remote = policy("http://mcp.example.com/mcp", false, ["http://127.0.0.1:9000/token", "no address"])
    assert.strictEqual(verdict(remote, "http://mcp.example.com/.well-known/any"), "allowed")
    assert.strictEqual(verdict(remote, "http://127.0.0.1:9000/authorize"), "allowed")
    assert.strictEqual(verdict(remote, "https://8.8.8.8/"), "allowed")
    assert.strictEqual(verdict(remote, "http://8.8.8.8/"), "unencrypted")
    assert.strictEqual(verdict(remote, "http://as.example.com/"), "unencrypted")
    assert.strictEqual(verdict(remote, "file:///etc/passwd"), "unencrypted")
    assert.isUndefined(verdict(remote, "https://as.example.com/"))
    for (const host of [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "0.0.0.0",
      "10.0.0.1",
      "169.254.169.254",
      "auth",
      "a.local"
    ]) {
      assert.strictEqual(verdict(remote, `http://${host}:3000/`), "too_near", host)
      assert.strictEqual(verdict(remote, `https://${host}:3000/`), "too_near", host)
    }
    assert.strictEqual(judgeAddress(remote, "https:", "127.0.0.1"), "too_near")
    assert.strictEqual(judgeAddress(remote, "https:", "8.8.8.8"), "allowed")
    assert.strictEqual(judgeAddress(remote, "http:", "8.8.8.8"), "unencrypted")
  })

  it("of a server in a private network allows that network, and not this machine", () => {
    const own = policy("http://192.168.1.5:8080/mcp")
    assert.strictEqual(verdict(own, "http://10.0.0.7/"), "allowed")
    assert.strictEqual(verdict(own, "http://127.0.0.1/"), "too_near")
    assert.strictEqual(verdict(own, "http://169.254.169.254/"), "too_near")
    assert.isUndefined(verdict(own, "http://as.example.com/"))
    // a name that a device in the network can choose
    assert.isUndefined(verdict(own, "http://printer.local/"))
    assert.isUndefined(verdict(own, "http://printer.local./"))
    assert.strictEqual(judgeAddress(own, "http:", "127.0.0.1"), "too_near")
    assert.strictEqual(judgeAddress(own, "http:", "10.0.0.1"), "allowed")
    assert.strictEqual(judgeAddress(own, "http:", "8.8.8.8"), "unencrypted")
  })

  it("of a server on this machine, or with privateNetwork, allows every zone, and http only where it is not the internet", () => {
    for (const any of [policy("http://localhost:3000/mcp"), policy("https://mcp.example.com/mcp", true)]) {
      assert.strictEqual(any.nearest, "machine")
      for (const host of ["127.0.0.1", "localhost", "10.0.0.1", "169.254.1.1"]) {
        assert.strictEqual(verdict(any, `http://${host}/`), "allowed")
        assert.strictEqual(verdict(any, `xhttp://${host}/`), "unencrypted")
      }
      assert.strictEqual(verdict(any, "http://8.8.8.8/"), "unencrypted")
    }
  })

  it("of an invalid address is that of a server on the internet", () => {
    assert.deepStrictEqual(policy("no address"), { configured: new Set<string>(), nearest: "public" })
  })
})
