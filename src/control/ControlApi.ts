/**
 * Describes the control API: routes, requests and responses. Server, client and OpenAPI document derive from it.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Plan } from "../domain/server/Plan.js"
import * as Protocol from "../domain/catalog/Protocol.js"
import { ServerSnapshot } from "../domain/server/ServerSnapshot.js"
import { ServerStatus } from "../domain/server/ServerStatus.js"
import { version } from "../domain/internal/version.js"
import * as ControlError from "./ControlError.js"
import { finished } from "./openApi.js"
import * as Payload from "./Payload.js"

export { revision } from "./apiRevision.js"

/** A path segment. The server receives it decoded; the derived client does not encode it by itself. */
const Segment = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => text,
  encode: encodeURIComponent
})

const name = HttpApiSchema.param("name", Segment)

const CallError = Schema.Union(...ControlError.callErrors)
const LoginError = Schema.Union(ControlError.ServerNotFound, ControlError.AuthError)
const ReadError = Schema.Union(...ControlError.readErrors)

const servers = HttpApiGroup.make("mcp")
  .add(HttpApiEndpoint.get("list", "/mcp").addSuccess(Payload.Statuses))
  .add(
    HttpApiEndpoint.post("add", "/mcp")
      .setPayload(Payload.Add)
      .addSuccess(Payload.Statuses)
      .addError(Schema.Union(ControlError.ServerExists, ControlError.InvalidConfig))
      .addError(Schema.Union(ControlError.EditRefused, ControlError.Unconfigured))
  )
  .add(
    HttpApiEndpoint.post("connect")`/mcp/${name}/connect`.addSuccess(ServerStatus).addError(ControlError.ServerNotFound)
  )
  .add(
    HttpApiEndpoint.post("disconnect")`/mcp/${name}/disconnect`
      .addSuccess(ServerStatus)
      .addError(ControlError.ServerNotFound)
  )
  .add(
    HttpApiEndpoint.post("restart")`/mcp/${name}/restart`.addSuccess(ServerStatus).addError(ControlError.ServerNotFound)
  )
  .add(
    HttpApiEndpoint.post("enable")`/mcp/${name}/enable`.addSuccess(ServerStatus).addError(ControlError.ServerNotFound)
  )
  .add(
    HttpApiEndpoint.post("disable")`/mcp/${name}/disable`.addSuccess(ServerStatus).addError(ControlError.ServerNotFound)
  )
  .add(HttpApiEndpoint.del("remove")`/mcp/${name}`.addSuccess(ServerStatus).addError(ControlError.ServerNotFound))
  .annotate(OpenApi.Description, "Servers, and commands that connect, disconnect and change them.")

const auth = HttpApiGroup.make("auth")
  .add(HttpApiEndpoint.post("start")`/mcp/${name}/auth`.addSuccess(Payload.LoginStarted).addError(LoginError))
  .add(
    HttpApiEndpoint.post("finish")`/mcp/${name}/auth/callback`
      .setPayload(Payload.Callback)
      .addSuccess(ServerStatus)
      .addError(LoginError)
  )
  .add(HttpApiEndpoint.del("forget")`/mcp/${name}/auth`.addSuccess(ServerStatus).addError(ControlError.ServerNotFound))
  .add(HttpApiEndpoint.get("list", "/auth").addSuccess(Schema.Array(Payload.Login)))
  .annotate(OpenApi.Description, "Logins to servers.")

const snapshots = HttpApiGroup.make("servers")
  .add(HttpApiEndpoint.get("list", "/servers").addSuccess(Schema.Array(ServerSnapshot)))
  .add(HttpApiEndpoint.get("get")`/servers/${name}`.addSuccess(ServerSnapshot).addError(ControlError.ServerNotFound))
  .add(
    HttpApiEndpoint.get("logs")`/servers/${name}/logs`
      .addSuccess(Schema.Array(Protocol.LogLine))
      .addError(ControlError.ServerNotFound)
      .annotate(
        OpenApi.Description,
        'Returns the stored log lines, oldest first. With "Accept: text/event-stream", sends the stored lines and then each new line as an event named "log".'
      )
  )
  .annotate(OpenApi.Description, "Snapshots and logs of servers.")

const catalog = HttpApiGroup.make("catalog")
  .add(HttpApiEndpoint.get("tools", "/tools").setUrlParams(Payload.ForAgent).addSuccess(Schema.Array(Protocol.Tool)))
  .add(
    HttpApiEndpoint.post("call")`/tools/${name}/call`
      .setPayload(Payload.Call)
      .addSuccess(Protocol.CallToolResult)
      .addError(CallError)
      .annotate(
        OpenApi.Description,
        'Calls a tool. With "Accept: text/event-stream", sends an event named "progress" for progress notifications of the server, then one event named "result" or "error". Its data is the body of the response without a stream.'
      )
  )
  .add(
    HttpApiEndpoint.get("resources", "/resources")
      .setUrlParams(Payload.ForAgent)
      .addSuccess(Schema.Array(Protocol.Resource))
  )
  .add(
    HttpApiEndpoint.get("resourceTemplates", "/resources/templates")
      .setUrlParams(Payload.ForAgent)
      .addSuccess(Schema.Array(Protocol.ResourceTemplate))
  )
  .add(
    HttpApiEndpoint.post("read", "/resources/read")
      .setPayload(Payload.Read)
      .addSuccess(Protocol.ReadResourceResult)
      .addError(ReadError)
  )
  .add(
    HttpApiEndpoint.get("prompts", "/prompts").setUrlParams(Payload.ForAgent).addSuccess(Schema.Array(Protocol.Prompt))
  )
  .add(
    HttpApiEndpoint.post("prompt", "/prompts/get")
      .setPayload(Payload.GetPrompt)
      .addSuccess(Protocol.GetPromptResult)
      .addError(ReadError)
  )
  .annotate(OpenApi.Description, "Tools, resources and prompts of the servers.")

const config = HttpApiGroup.make("config")
  .add(HttpApiEndpoint.post("reload", "/reload").addSuccess(Plan))
  .add(HttpApiEndpoint.get("explain", "/config").addSuccess(Payload.Explanation))
  .add(
    HttpApiEndpoint.post("trust", "/trust")
      .setPayload(Payload.Trust)
      .addSuccess(Payload.Trusted)
      .addError(ControlError.EditRefused)
  )
  .addError(Schema.Union(ControlError.InvalidConfig, ControlError.Unconfigured))
  .annotate(OpenApi.Description, "The config files of this supervisor.")

const EventStream = HttpApiSchema.Text({ contentType: "text/event-stream" })

const system = HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("events", "/events")
      .addSuccess(EventStream)
      .annotate(
        OpenApi.Description,
        'Sends new events as server-sent events. With "Last-Event-ID", sends the events after that id first. Ids have the form "<epoch>-<seq>".'
      )
  )
  .add(HttpApiEndpoint.get("health", "/health").addSuccess(Payload.Health))
  .add(
    HttpApiEndpoint.get("metrics", "/metrics").addSuccess(
      HttpApiSchema.Text({ contentType: "text/plain; version=0.0.4; charset=utf-8" })
    )
  )
  .add(HttpApiEndpoint.get("openapi", "/openapi.json").addSuccess(Schema.Object))
  .annotate(OpenApi.Description, "The supervisor itself.")

/**
 * The control API with all routes.
 *
 * @since 0.1.0
 * @category models
 */
export const ControlApi = HttpApi.make("mcp-supervisor")
  .add(servers)
  .add(auth)
  .add(snapshots)
  .add(catalog)
  .add(config)
  .add(system)
  .addError(Schema.Union(...ControlError.rejections))
  .annotateContext(
    OpenApi.annotations({
      title: "mcp-supervisor",
      version,
      description: "Controls a running supervisor. Every request must carry the token of the file `control-token`.",
      license: { name: "MIT" },
      transform: finished
    })
  )
