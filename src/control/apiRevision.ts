/**
 * Defines the revision of the control API. A client with a different revision rejects the supervisor.
 *
 * @since 0.1.0
 * @category models
 */
export const revision = 1
