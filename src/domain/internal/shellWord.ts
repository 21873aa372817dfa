/**
 * Quotes words for a shell.
 */
/** Quotes a word so that it can be pasted into a POSIX shell. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
