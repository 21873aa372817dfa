/** A copy of a text. A part that was cut out of a text keeps all of that text in memory, and logs keep their lines for long. */
export const detachText = (text: string): string => Buffer.from(text, "utf16le").toString("utf16le")
