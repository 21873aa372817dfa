/**
 * Colours texts for a terminal, or leaves them plain.
 */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly name: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly busy: (text: string) => string
}

const same = (text: string): string => text

export const plain: Style = { bold: same, dim: same, name: same, good: same, bad: same, busy: same }

const code = (open: number, close: number) => (text: string) =>
  text === "" ? text : `\u001b[${open}m${text}\u001b[${close}m`

export const coloured: Style = {
  bold: code(1, 22),
  dim: code(2, 22),
  name: code(36, 39),
  good: code(32, 39),
  bad: code(31, 39),
  busy: code(33, 39)
}

/** Returns colours for a terminal, unless `NO_COLOR` is set (https://no-color.org) or the terminal has none. */
export const styleFor = (
  isTerminal: boolean,
  env: { readonly NO_COLOR?: string | undefined; readonly TERM?: string | undefined }
): Style => (isTerminal && !env.NO_COLOR && env.TERM !== "dumb" ? coloured : plain)
