/**
 * `list --json` of a running supervisor, in one request.
 */
export const listed = async (_input: Readonly<Record<string, unknown>>): Promise<string | undefined> => undefined
