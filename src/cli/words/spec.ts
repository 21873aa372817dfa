/**
 * What a command takes, as data. Parsing, help, completions and the documentation are all made from it; nothing here needs more
 * than the language, so that help and completions come at once.
 */

/** There or not. */
export interface Flag {
  readonly _tag: "Flag"
  readonly summary: string
  /** One letter. */
  readonly alias?: string | undefined
}

export interface Text {
  readonly _tag: "Text"
  /** What stands for the value in a usage line. */
  readonly value: string
  readonly summary: string
  readonly choices?: ReadonlyArray<string> | undefined
}

/** May be given more than once. */
export interface Texts {
  readonly _tag: "Texts"
  readonly value: string
  readonly summary: string
  /** Takes every word up to the next option. */
  readonly greedy?: boolean | undefined
}

export interface Whole {
  readonly _tag: "Whole"
  readonly value: string
  readonly summary: string
  readonly max: number
}

export type Option = Flag | Text | Texts | Whole

export interface Argument {
  /** What stands for it in a usage line. */
  readonly value: string
  readonly summary: string
  readonly need: "required" | "optional" | "many"
  readonly choices?: ReadonlyArray<string> | undefined
  /** Whether nothing says something. Defaults to false. */
  readonly mayBeEmpty?: boolean | undefined
}

export interface Spec {
  readonly name: string
  /** One line. */
  readonly summary: string
  readonly details?: string | undefined
  readonly group: Group
  /** In the order in which they are written. */
  readonly arguments: Readonly<Record<string, Argument>>
  readonly options: Readonly<Record<string, Option>>
  /** What may follow `--`. Without it, words after `--` are arguments. */
  readonly rest?: string | undefined
  readonly examples: readonly [string, ...ReadonlyArray<string>]
}

export type Group = "look" | "use" | "configure" | "steer" | "log in" | "run"

export const flag = (summary: string, alias?: string): Flag => ({ _tag: "Flag", summary, alias })

export const text = (value: string, summary: string, choices?: ReadonlyArray<string>): Text => ({
  _tag: "Text",
  value,
  summary,
  choices
})

export const texts = (value: string, summary: string, greedy = false): Texts => ({
  _tag: "Texts",
  value,
  summary,
  greedy
})

export const whole = (value: string, summary: string, max: number): Whole => ({ _tag: "Whole", value, summary, max })

export const argument = <Need extends Argument["need"]>(
  need: Need,
  value: string,
  summary: string,
  choices?: ReadonlyArray<string>
): Argument & { readonly need: Need } => ({ need, value, summary, choices })

/** Keeps the exact type, so that {@link Input} knows every value. */
export const command = <const S extends Spec>(spec: S): S => spec

/** What every command takes. */
export const shared = {
  config: texts("FILE", "A further config file; overrides the project and global files; may be repeated"),
  cwd: text("DIR", "Use this directory as the working directory"),
  stateDir: text("DIR", "Directory for logins, approvals and the state of the daemon"),
  standalone: flag("Do not use a running supervisor"),
  json: flag("Print JSON"),
  help: flag("Show this help", "h")
} as const

type ValueOf<O> = O extends Flag
  ? boolean
  : O extends Texts
    ? ReadonlyArray<string>
    : O extends Whole
      ? number | undefined
      : string | undefined

type ArgumentOf<A> = A extends { readonly need: "required" }
  ? string
  : A extends { readonly need: "many" }
    ? ReadonlyArray<string>
    : string | undefined

type Values<Options> = { readonly [Key in keyof Options]: ValueOf<Options[Key]> }

export type Shared = Values<Omit<typeof shared, "help">>

/** What a command gets. */
export type Input<S extends Spec> = Shared &
  Values<S["options"]> & { readonly [Key in keyof S["arguments"]]: ArgumentOf<S["arguments"][Key]> } & {
    readonly rest: ReadonlyArray<string>
  }

/** All options of a command by the name that is written. */
export const optionsOf = (spec: Spec): ReadonlyMap<string, { readonly key: string; readonly option: Option }> =>
  new Map(Object.entries({ ...spec.options, ...shared }).map(([key, option]) => [kebab(key), { key, option }] as const))

export const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
