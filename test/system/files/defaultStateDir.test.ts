import { assert, describe, it } from "@effect/vitest"
import { defaultStateDir } from "../../../src/system/files/defaultStateDir.js"

describe("defaultStateDir", () => {
  const rows = [
    ["linux", {}, "/home/ada", "/home/ada/.local/share/mcp-supervisor"],
    ["freebsd", {}, "/home/ada", "/home/ada/.local/share/mcp-supervisor"],
    ["darwin", {}, "/Users/ada", "/Users/ada/Library/Application Support/mcp-supervisor"],
    ["win32", {}, "C:\\Users\\ada", "C:\\Users\\ada\\AppData\\Local\\mcp-supervisor"],
    ["win32", { LOCALAPPDATA: "D:\\data" }, "C:\\Users\\ada", "D:\\data\\mcp-supervisor"],
    ["linux", { LOCALAPPDATA: "/data" }, "/home/ada", "/home/ada/.local/share/mcp-supervisor"],
    ["linux", { XDG_DATA_HOME: "/data" }, "/home/ada", "/data/mcp-supervisor"],
    ["darwin", { XDG_DATA_HOME: "/data" }, "/Users/ada", "/data/mcp-supervisor"],
    ["win32", { XDG_DATA_HOME: "D:\\xdg" }, "C:\\Users\\ada", "D:\\xdg\\mcp-supervisor"],
    ["linux", { XDG_DATA_HOME: "data" }, "/home/ada", "/home/ada/.local/share/mcp-supervisor"],
    ["linux", { XDG_DATA_HOME: "" }, "/home/ada", "/home/ada/.local/share/mcp-supervisor"],
    ["linux", { MCP_SUPERVISOR_STATE_DIR: "/state", XDG_DATA_HOME: "/data" }, "/home/ada", "/state"],
    ["win32", { MCP_SUPERVISOR_STATE_DIR: "E:\\state" }, "C:\\Users\\ada", "E:\\state"],
    ["linux", { MCP_SUPERVISOR_STATE_DIR: ".state" }, "/home/ada", "/home/ada/.local/share/mcp-supervisor"],
    ["linux", { MCP_SUPERVISOR_STATE_DIR: "" }, "/home/ada", "/home/ada/.local/share/mcp-supervisor"]
  ] as const
  for (const [platform, env, home, expected] of rows) {
    it(`${platform} with ${JSON.stringify(env)} is ${expected}`, () => {
      assert.strictEqual(
        defaultStateDir(env, platform, () => home),
        expected
      )
    })
  }

  it("is never below the current directory because of a relative home", () => {
    for (const home of ["", "relative/home", "."])
      assert.throws(
        () => defaultStateDir({ XDG_DATA_HOME: "data" }, "linux", () => home),
        "the home directory is not an absolute path"
      )
  })
})
