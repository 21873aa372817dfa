/**
 * Serves further apps beside the control API, under the same admission.
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Body from "./body.js"
import { handleErrors } from "./errorResponse.js"
import { pathOf } from "./routes.js"

/**
 * An app at a path of the control server.
 *
 * @since 0.1.0
 * @category models
 */
export interface Mount {
  /** One path, such as `/gateway`, or all paths below one, such as `/page/*`. It has priority over routes of the API. */
  readonly path: string
  /** Whether requests need no token. Host and origin are still checked. Defaults to false. */
  readonly isPublic?: boolean | undefined
  /** Receives requests with every method and with the unchanged URL. Its failures become responses like those of the API. */
  readonly app: HttpApp.Default<unknown>
}

/** The mount that serves a URL: the first one whose path matches. */
const find = (mounts: ReadonlyArray<Mount>, url: string): Mount | undefined => {
  const requested = pathOf(url)
  return mounts.find(({ path }) => (path.endsWith("/*") ? requested.startsWith(path.slice(0, -1)) : requested === path))
}

/** Whether requests to a URL need no token. It is decided by the mount that serves the URL. */
export const isPublic =
  (mounts: ReadonlyArray<Mount>) =>
  (url: string): boolean =>
    find(mounts, url)?.isPublic === true

/** Passes a request to the mount that serves its URL, and all other requests to the API. */
export const serve =
  (mounts: ReadonlyArray<Mount>) =>
  <E, R>(api: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
    Effect.flatMap(HttpServerRequest, (request): HttpApp.Default<E, R> => {
      const mount = find(mounts, request.url)
      return mount === undefined ? api : handleErrors(mount.path)(Effect.zipRight(Body.accept(request), mount.app))
    })
