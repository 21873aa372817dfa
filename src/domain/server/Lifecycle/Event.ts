/**
 * The events of the lifecycle: commands, outcomes of attempts, changes of links, timers. Each event contains its time and randomness.
 */
import * as Schema from "effect/Schema"
import { Failure } from "../Failure.js"
import { ListKind } from "../../catalog/Protocol.js"
import { AttemptPhase } from "../ServerStatus.js"
import { LinkInfo, Settings } from "./State.js"

const event = <Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.TaggedStruct(tag, {
    /** Epoch milliseconds. */
    at: Schema.Finite,
    /** In [0, 1). */
    random: Schema.Finite.pipe(Schema.greaterThanOrEqualTo(0), Schema.lessThan(1)),
    ...fields
  })

/** An event of one link. It changes nothing if the link was replaced or closed. */
const linkEvent = <Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  event(tag, { generation: Schema.Int, ...fields })

/**
 * Enables a server that its config or a command disabled. A lazy server becomes idle.
 *
 * @since 0.1.0
 * @category commands
 */
export const Enable = event("Enable", {})

/**
 * Closes everything and keeps the server disabled until a command: `disable` and `disconnect`.
 *
 * @since 0.1.0
 * @category commands
 */
export const Disable = event("Disable", {})

/**
 * Connects now: enables the server, starts it if it is idle, and ends every wait for a retry.
 *
 * @since 0.1.0
 * @category commands
 */
export const Connect = event("Connect", {})

/**
 * Closes the current link, then connects.
 *
 * @since 0.1.0
 * @category commands
 */
export const Restart = event("Restart", {})

/**
 * Closes everything permanently.
 *
 * @since 0.1.0
 * @category commands
 */
export const Remove = event("Remove", {})

/**
 * The config changed. `settings`: no new link is needed. `link`: a new link is needed, and the old one serves until it is open.
 * `identity` (a different server or different credentials): a new link is needed, and the old one gets no more calls.
 *
 * @since 0.1.0
 * @category commands
 */
export const ConfigChanged = event("ConfigChanged", {
  settings: Settings,
  change: Schema.Literal("settings", "link", "identity")
})

/**
 * A call needs the server.
 *
 * @since 0.1.0
 * @category facts
 */
export const Demanded = event("Demanded", {})

/**
 * An attempt reached its next phase.
 *
 * @since 0.1.0
 * @category outcomes
 */
export const PhaseReached = linkEvent("PhaseReached", { phase: AttemptPhase })

/**
 * An attempt succeeded: the link is usable.
 *
 * @since 0.1.0
 * @category outcomes
 */
export const Opened = linkEvent("Opened", { info: LinkInfo })

/**
 * An attempt failed, or an open link is lost: the peer closed it, the session is lost, or health checks fail. The failure says
 * which.
 *
 * @since 0.1.0
 * @category outcomes
 */
export const Lost = linkEvent("Lost", { failure: Failure })

/**
 * The info of a link changed, such as its counts or its push channel.
 *
 * @since 0.1.0
 * @category facts
 */
export const LinkUpdated = linkEvent("LinkUpdated", { info: LinkInfo })

/**
 * The server reported that one of its lists changed.
 *
 * @since 0.1.0
 * @category facts
 */
export const ListChanged = linkEvent("ListChanged", { list: ListKind })

/**
 * The link of a lazy server was unused for the time in its config.
 *
 * @since 0.1.0
 * @category facts
 */
export const Idle = linkEvent("Idle", {})

/**
 * A draining link has finished its calls.
 *
 * @since 0.1.0
 * @category facts
 */
export const Drained = linkEvent("Drained", {})

/**
 * Nothing of a link is left: no process, no socket. This is the last event of every link.
 *
 * @since 0.1.0
 * @category facts
 */
export const Released = linkEvent("Released", {})

/**
 * The user logged in, or (`revoked`) out.
 *
 * @since 0.1.0
 * @category facts
 */
export const CredentialsChanged = event("CredentialsChanged", { revoked: Schema.Boolean })

/**
 * @since 0.1.0
 * @category timers
 */
export const TimerFired = event("TimerFired", { timer: Schema.Int })

/**
 * @since 0.1.0
 * @category models
 */
export const Event = Schema.Union(
  Enable,
  Disable,
  Connect,
  Restart,
  Remove,
  ConfigChanged,
  Demanded,
  PhaseReached,
  Opened,
  Lost,
  LinkUpdated,
  ListChanged,
  Idle,
  Drained,
  Released,
  CredentialsChanged,
  TimerFired
)

/**
 * @since 0.1.0
 * @category models
 */
export type Event = typeof Event.Type
