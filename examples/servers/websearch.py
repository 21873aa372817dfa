#!/usr/bin/env python3
"""An MCP server without any SDK: JSON-RPC 2.0, one message per line, on stdin and stdout.

It answers `search_web` from a small built-in corpus, so it needs neither a network nor a key.
"""

import json
import os
import re
import sys
import traceback

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAX_RESULTS = 5

CORPUS = [
    {
        "title": "Model Context Protocol: Introduction",
        "href": "https://modelcontextprotocol.io/docs/getting-started/intro",
        "body": "An open protocol that connects AI applications to tools, data and prompts.",
    },
    {
        "title": "Model Context Protocol: Specification",
        "href": "https://modelcontextprotocol.io/specification",
        "body": "The messages of the protocol: lifecycle, tools, resources, prompts, progress and cancellation.",
    },
    {
        "title": "JSON-RPC 2.0 Specification",
        "href": "https://www.jsonrpc.org/specification",
        "body": "A stateless remote procedure call protocol that uses JSON: requests, responses, errors.",
    },
    {
        "title": "Effect Documentation",
        "href": "https://effect.website/docs",
        "body": "A TypeScript library for typed errors, structured concurrency, streams and schemas.",
    },
    {
        "title": "TypeScript Handbook",
        "href": "https://www.typescriptlang.org/docs/handbook/intro.html",
        "body": "Learn the TypeScript type system from basic types to generics and modules.",
    },
    {
        "title": "Node.js: Child process",
        "href": "https://nodejs.org/api/child_process.html",
        "body": "How to start a process, talk to it over stdin and stdout, and learn how it ended.",
    },
    {
        "title": "Python: json",
        "href": "https://docs.python.org/3/library/json.html",
        "body": "How to read and write JSON in Python with the standard library.",
    },
    {
        "title": "Supervisors in practice",
        "href": "https://example.com/articles/supervisors-in-practice",
        "body": "Why a supervisor restarts a failed process with backoff, and when it should give up.",
    },
    {
        "title": "The actor model explained",
        "href": "https://example.com/articles/actor-model",
        "body": "Actors own their state and talk only by messages, which makes concurrency simple.",
    },
    {
        "title": "A café guide to Zürich",
        "href": "https://example.org/travel/zurich-cafes",
        "body": "Ten quiet places with good coffee and free wireless.",
    },
]


class RpcError(Exception):
    """An error that the client shall see as the answer to its request."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


def words_of(text):
    return set(re.findall(r"\w+", text.lower()))


def find_entries(query):
    """The entries that share words with the query, those with the most shared words first."""
    wanted = words_of(query)
    scored = [(len(wanted & words_of(entry["title"] + " " + entry["body"])), entry) for entry in CORPUS]
    matches = [pair for pair in scored if pair[0] > 0]
    matches.sort(key=lambda pair: pair[0], reverse=True)
    return [entry for _, entry in matches[:MAX_RESULTS]]


def format_results(query, entries):
    if not entries:
        return "No results for '{}'.".format(query)
    lines = ["Search results for '{}':".format(query), ""]
    for number, entry in enumerate(entries, start=1):
        lines += [
            "{}. {}".format(number, entry["title"]),
            "   {}".format(entry["href"]),
            "   {}".format(entry["body"]),
            "",
        ]
    return "\n".join(lines)


def reject_constant(name):
    # Python's json reads NaN and Infinity, which are not JSON
    raise ValueError("{} is not JSON".format(name))


class WebSearchServer:
    def __init__(self):
        self.methods = {
            "initialize": self.initialize,
            "ping": self.ping,
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
        }
        self.tools = {"search_web": self.search_web}

    def initialize(self, params):
        version = params.get("protocolVersion")
        if not isinstance(version, str):
            raise RpcError(INVALID_PARAMS, "protocolVersion must be a string")
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web-search", "version": "1.0.0"},
        }

    def ping(self, params):
        return {}

    def list_tools(self, params):
        search_web = {
            "name": "search_web",
            "title": "Search the web",
            "description": "Searches a small built-in collection of pages",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "The words to search for"}},
                "required": ["query"],
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        return {"tools": [search_web]}

    def call_tool(self, params):
        name = params.get("name")
        tool = self.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, "Unknown tool: {}".format(name))
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        return {"content": [{"type": "text", "text": tool(arguments)}]}

    def search_web(self, arguments):
        if "query" not in arguments:
            raise RpcError(INVALID_PARAMS, "Missing argument: query")
        query = arguments["query"]
        if not isinstance(query, str):
            raise RpcError(INVALID_PARAMS, "query must be a string")
        return format_results(query, find_entries(query))

    def handle_line(self, line):
        """Turns one line of input into the message to answer, or None when there is nothing to answer."""
        try:
            message = json.loads(line.decode("utf-8"), parse_constant=reject_constant)
        except (ValueError, RecursionError) as error:
            return self.failure(None, RpcError(PARSE_ERROR, "Parse error: {}".format(error)))
        return self.handle_message(message)

    def handle_message(self, message):
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return self.failure(None, RpcError(INVALID_REQUEST, "Not a JSON-RPC 2.0 message"))
        if "result" in message or "error" in message:
            # an answer, but this server never asks anything
            return None
        if "method" not in message:
            return self.failure(None, RpcError(INVALID_REQUEST, "A request needs a method"))
        if "id" not in message:
            # a notification: JSON-RPC forbids an answer, and none of them changes anything here
            return None
        request_id = message["id"]
        if not isinstance(request_id, (str, int)) or isinstance(request_id, bool):
            return self.failure(None, RpcError(INVALID_REQUEST, "id must be a string or an integer"))
        try:
            return {"jsonrpc": "2.0", "id": request_id, "result": self.dispatch(message)}
        except RpcError as error:
            return self.failure(request_id, error)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return self.failure(request_id, RpcError(INTERNAL_ERROR, "Internal error"))

    def dispatch(self, message):
        method = message["method"]
        handler = self.methods.get(method) if isinstance(method, str) else None
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found: {}".format(method))
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        return handler(params)

    def failure(self, request_id, error):
        return {"jsonrpc": "2.0", "id": request_id, "error": {"code": error.code, "message": error.message}}

    def serve(self, incoming, outgoing):
        for line in incoming:
            if not line.strip():
                continue
            answer = self.handle_line(line)
            if answer is not None:
                # json.dumps escapes all but ASCII, so that even half a surrogate pair can be sent back
                outgoing.write(json.dumps(answer).encode("utf-8") + b"\n")
                outgoing.flush()


def main():
    # the byte streams, because the text streams would use the encoding of the locale
    try:
        WebSearchServer().serve(sys.stdin.buffer, sys.stdout.buffer)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # the client is gone; without this, Python would try to flush the closed pipe once more on exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
