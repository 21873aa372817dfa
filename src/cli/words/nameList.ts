/** Lists the first few names for one line of text, and the number of the others. */
export const nameList = (names: ReadonlyArray<string>, most = 5): string =>
  `${names.slice(0, most).join(", ")}${names.length > most ? ` and ${names.length - most} more` : ""}`
