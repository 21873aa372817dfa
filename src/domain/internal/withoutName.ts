/**
 * Removes the name of the server from the beginning of an error text that is shown beside the name.
 */
export const withoutName = (server: string | undefined, message: string): string =>
  message.startsWith(`${server}: `) ? message.slice(`${server}: `.length) : message
