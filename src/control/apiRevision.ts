/**
 * The revision of the control API. A client that knows another refuses.
 *
 * @since 0.1.0
 * @category models
 */
export const revision = 1
