import { assert, describe, it } from "@effect/vitest"
import { isMadeOfWords, looksLikeName } from "../../src/domain/internal/looksLikeName.js"

describe("looksLikeName", () => {
  for (const text of [
    "v1",
    "v12",
    "server-2",
    "2026-07-28",
    "mcp-server@2025.8.21",
    "k8s",
    "i18n-server",
    "x64",
    "linux-x64-musl",
    "python3.11",
    "AWS_S3_BUCKET",
    "mcp-server@1.12.3",
    "python12-server34",
    "oneTwoThreeFourFive",
    "someHTTPServerAPIKeys",
    "TaKeMe",
    "aBcD",
    "ba".repeat(12),
    "aeiouaeiou",
    "s3-r2-server"
  ]) {
    it(`accepts ${text}`, () => assert.isTrue(isMadeOfWords(text)))
  }

  for (const text of [
    "7F3K-9Q2M-X4TZ-8WPL",
    "7F3K-9Q2M",
    "ab12-cd34-ef56-78gh",
    "AB12-CD34",
    "1234-5678-9012",
    "1234.5678",
    "key-7F3K-9Q2M-X4TZ",
    "KEY_7F3K_9Q2M",
    "2026-07-28-2027-08-29",
    "2026-77-28",
    "x2026-07-28",
    "oneTwoThreeFourFiveSix",
    "OAuthAPIKeysForMe",
    "aBcdE",
    `${"ba".repeat(12)}b`,
    "strngthsx",
    "strngthsx-server",
    "server-strngthsx",
    "abc1d"
  ]) {
    it(`rejects ${text}`, () => assert.isFalse(isMadeOfWords(text) || looksLikeName(text)))
  }
})
