/** Copies a text. In V8, a slice of a text keeps the whole text in memory, and logs keep their lines for long. */
export const detachText = (text: string): string => Buffer.from(text, "utf16le").toString("utf16le")
