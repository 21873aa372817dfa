/**
 * The events of the lifecycle: commands, outcomes of attempts, facts about links, timers. Time and randomness are part of the
 * event.
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

/** An event of one link. It changes nothing when that link is no longer the one it was. */
const linkEvent = <Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  event(tag, { generation: Schema.Int, ...fields })

/**
 * Undoes a disable, by config or by command. A lazy server rests then.
 *
 * @since 0.1.0
 * @category commands
 */
export const Enable = event("Enable", {})

/**
 * Closes everything and stays down until a command: `disable` and `disconnect`.
 *
 * @since 0.1.0
 * @category commands
 */
export const Disable = event("Disable", {})

/**
 * Wants a link now: enables, wakes, and cuts every wait short.
 *
 * @since 0.1.0
 * @category commands
 */
export const Connect = event("Connect", {})

/**
 * Wants a new link: closes what there is, then connects.
 *
 * @since 0.1.0
 * @category commands
 */
export const Restart = event("Restart", {})

/**
 * Closes everything, for good.
 *
 * @since 0.1.0
 * @category commands
 */
export const Remove = event("Remove", {})

/**
 * The config changed. `settings` needs no new link; `link` needs one, and the old one serves until then; `identity` (who the
 * server is or how we are known to it) needs one, and the old one takes no more calls.
 *
 * @since 0.1.0
 * @category commands
 */
export const ConfigChanged = event("ConfigChanged", {
  settings: Settings,
  change: Schema.Literal("settings", "link", "identity")
})

/**
 * A call wants the server.
 *
 * @since 0.1.0
 * @category facts
 */
export const Demanded = event("Demanded", {})

/**
 * An attempt came a step further.
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
 * What is known of a link changed: its counts, its push channel.
 *
 * @since 0.1.0
 * @category facts
 */
export const LinkUpdated = linkEvent("LinkUpdated", { info: LinkInfo })

/**
 * The server says that one of its lists changed.
 *
 * @since 0.1.0
 * @category facts
 */
export const ListChanged = linkEvent("ListChanged", { list: ListKind })

/**
 * A lazy server's link had nothing to do for as long as its config allows.
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
 * Nothing of a link is left: no process, no socket. Every link that was opened ends with this.
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
