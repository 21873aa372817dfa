// The responses of a hostile server, over any transport. A payload replaces some responses of a correct server. Each response is the
// text of its result, because several are too deep or invalid for JSON.stringify.

const json = (value) => JSON.stringify(value)

const tool = (name, more = {}) => ({ name, inputSchema: { type: "object" }, ...more })

const tools = (...all) => json({ tools: all })

/** The tool of the correct server with another input schema. */
const schema = (inputSchema) => ({ list: () => tools({ name: "it", inputSchema }) })

const deep = (levels, open, middle, close) => `${open.repeat(levels)}${middle}${close.repeat(levels)}`

const deepObject = (levels) => deep(levels, '{"a":', "1", "}")

const filler = (megabytes) => "x".repeat(megabytes * 1024 * 1024)

/** The handshake result of a correct server. */
export const greeting = (more = {}) => ({
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "hostile", version: "1.0.0" },
  ...more
})

export const good = {
  initialize: () => json(greeting()),
  list: () => tools(tool("it")),
  call: () => json({ content: [{ type: "text", text: "it" }] })
}

/** Each takes a size, whose unit depends on the payload. */
export const payloads = {
  // --- the handshake
  "unknown-version": () => ({ initialize: () => json(greeting({ protocolVersion: "1999-01-01" })) }),
  "no-version": () => ({ initialize: () => json({ capabilities: {}, serverInfo: { name: "h", version: "1" } }) }),
  "version-number": () => ({ initialize: () => json(greeting({ protocolVersion: 20251125 })) }),
  "no-server-info": () => ({ initialize: () => json({ protocolVersion: "2025-11-25", capabilities: { tools: {} } }) }),
  "capabilities-array": () => ({ initialize: () => json(greeting({ capabilities: [] })) }),
  "greeting-null": () => ({ initialize: () => "null" }),
  "greeting-array": () => ({ initialize: () => "[]" }),
  "big-info": (megabytes) => ({
    initialize: () => json(greeting({ serverInfo: { name: "h", version: "1", title: filler(megabytes) } }))
  }),
  "big-instructions": (megabytes) => ({ initialize: () => json(greeting({ instructions: filler(megabytes) })) }),
  "deep-info": (levels) => ({
    initialize: () => json(greeting()).replace('"name":', `"x":${deepObject(levels)},"name":`)
  }),
  "deep-capabilities": (levels) => ({
    initialize: () => json(greeting()).replace('"tools":{}', `"tools":{},"experimental":{"x":${deepObject(levels)}}`)
  }),
  "deep-greeting": (levels) => ({ initialize: () => deep(levels, "[", "", "]") }),

  // --- lists
  "many-tools": (count) => ({
    list: () => tools(...Array.from({ length: count }, (_, index) => tool(index === 0 ? "it" : `tool-${index}`)))
  }),
  "big-description": (megabytes) => ({ list: () => tools(tool("it", { description: filler(megabytes) })) }),
  "list-bytes": (megabytes) => ({
    list: ({ cursor = "0" } = {}) => {
      const page = Number(cursor)
      const next = page + 1 < megabytes ? { nextCursor: String(page + 1) } : {}
      return json({ tools: [tool(page === 0 ? "it" : `tool-${page}`, { description: filler(1) })], ...next })
    }
  }),
  "big-cursor": (megabytes) => ({ list: () => json({ tools: [tool("it")], nextCursor: filler(megabytes) }) }),
  "same-cursor": () => ({ list: () => json({ tools: [tool("it")], nextCursor: "again" }) }),
  "empty-cursor": () => ({ list: () => json({ tools: [tool("it")], nextCursor: "" }) }),
  "number-cursor": () => ({ list: () => json({ tools: [tool("it")], nextCursor: 7 }) }),
  "endless-pages": () => {
    let page = 0
    return { list: () => json({ tools: [tool(page === 0 ? "it" : `tool-${page}`)], nextCursor: `page-${++page}` }) }
  },
  "endless-empty-pages": () => {
    let page = 0
    return { list: () => json({ tools: [], nextCursor: `page-${++page}` }) }
  },
  "malformed-tools": () => ({
    list: () => tools(tool("it"), null, 7, "text", [], {}, { name: 3 }, { name: "" }, tool("x", { inputSchema: "no" }))
  }),
  "doubled-tools": () => ({ list: () => tools(tool("it"), tool("it"), tool("it")) }),
  "proto-tools": () => ({
    list: () =>
      `{"tools":[{"name":"it","inputSchema":{"type":"object"},"__proto__":{"polluted":true}},` +
      `{"name":"__proto__","inputSchema":{"type":"object"}},{"name":"constructor","inputSchema":{"type":"object"}}]}`
  }),
  "odd-names": () => ({
    list: () => tools(tool("it"), tool("a\u0000b"), tool("\u202eabc"), tool("x".repeat(100_000)))
  }),
  "tools-object": () => ({ list: () => json({ tools: { it: tool("it") } }) }),
  "tools-missing": () => ({ list: () => "{}" }),
  "list-null": () => ({ list: () => "null" }),
  "list-text": () => ({ list: () => '"tools"' }),
  "deep-schema": (levels) => ({
    list: () => `{"tools":[{"name":"it","inputSchema":${deep(levels, '{"properties":{"a":', "{}", "}}")}}]}`
  }),
  "deep-annotations": (levels) => ({
    list: () => `{"tools":[{"name":"it","inputSchema":{"type":"object"},"annotations":{"x":${deepObject(levels)}}}]}`
  }),
  "deep-meta": (levels) => ({
    list: () => `{"tools":[{"name":"it","inputSchema":{"type":"object"},"_meta":{"x":${deepObject(levels)}}}]}`
  }),
  "deep-entry-beside-a-good-one": (levels) => ({
    list: () => `{"tools":[${json(tool("it"))},{"name":"deep","inputSchema":${deepObject(levels)}}]}`
  }),
  "ref-loop": () =>
    schema({ type: "object", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }),
  "ref-elsewhere": () => schema({ type: "object", $ref: "http://127.0.0.1:9/schema.json" }),
  "redos-pattern": () => schema({ type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } }),
  "redos-property-names": () => schema({ type: "object", propertyNames: { pattern: "^(a+)+$" } }),
  "unique-items": () => schema({ type: "object", properties: { list: { type: "array", uniqueItems: true } } }),
  contains: () =>
    schema({
      type: "object",
      properties: { list: { type: "array", contains: { type: "array", contains: { const: "never" } } } }
    }),
  "large-enum": (count) =>
    schema({
      type: "object",
      properties: { list: { type: "array", items: { enum: Array.from({ length: count }, (_, each) => ({ each })) } } }
    }),
  "nested-unions": (levels) => {
    let union = { type: "number" }
    for (let level = 0; level < levels; level++) union = { anyOf: [union, { not: union }] }
    return schema({ type: "object", properties: { list: { type: "array", items: union } } })
  },
  "schema-of-every-draft": () => schema({ $schema: "http://json-schema.org/draft-03/schema#", type: "object" }),
  "schema-false": () => schema({ type: "object", not: {} }),

  // --- results
  "big-result": (megabytes) => ({ call: () => json({ content: [{ type: "text", text: filler(megabytes) }] }) }),
  "deep-result": (levels) => ({ call: () => `{"content":[],"structuredContent":{"x":${deepObject(levels)}}}` }),
  "deep-content": (levels) => ({
    call: () => `{"content":[{"type":"text","text":"it","_meta":${deepObject(levels)}}]}`
  }),
  "result-null": () => ({ call: () => "null" }),
  "result-array": () => ({ call: () => "[]" }),
  "result-number": () => ({ call: () => "7" }),
  "content-text": () => ({ call: () => json({ content: "it" }) }),
  "content-missing": () => ({ call: () => "{}" }),
  "content-of-unknown-type": () => ({ call: () => json({ content: [{ type: "hologram", data: 1 }] }) }),
  "content-null": () => ({ call: () => json({ content: [null] }) }),
  "many-contents": (count) => ({
    call: () => json({ content: Array.from({ length: count }, () => ({ type: "text", text: "" })) })
  }),
  "lone-surrogates": () => ({ call: () => '{"content":[{"type":"text","text":"\\ud800 and \\udfff"}]}' }),
  "huge-number": () => ({ call: () => '{"content":[],"structuredContent":{"n":1e999}}' })
}

/** The responses of a server in a mode; those of a correct server if the mode does not change responses. */
export const answersOf = (mode, size) => ({ ...good, ...payloads[mode]?.(size) })
