/** Names for a line of text: the first few, and how many more there are. */
export const nameList = (names: ReadonlyArray<string>, most = 5): string =>
  `${names.slice(0, most).join(", ")}${names.length > most ? ` and ${names.length - most} more` : ""}`
