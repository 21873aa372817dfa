/**
 * Describes the options and arguments of a command as data. The parser, the help, the completion scripts and the documentation are
 * derived from it. It imports nothing, so that help and completions start fast.
 */

/** An option without a value. */
export interface Flag {
  readonly _tag: "Flag"
  readonly summary: string
  /** One letter. */
  readonly alias?: string | undefined
}

/** An option with one value. */
export interface Text {
  readonly _tag: "Text"
  /** The placeholder of the value in a usage line. */
  readonly value: string
  readonly summary: string
  readonly choices?: ReadonlyArray<string> | undefined
}

/** An option that may be repeated. */
export interface Texts {
  readonly _tag: "Texts"
  readonly value: string
  readonly summary: string
  /** Takes all words up to the next option. Defaults to false. */
  readonly greedy?: boolean | undefined
}

/** An option whose value is a whole number. */
export interface Whole {
  readonly _tag: "Whole"
  readonly value: string
  readonly summary: string
  readonly max: number
}

export type Option = Flag | Text | Texts | Whole

export interface Argument {
  /** The placeholder of the argument in a usage line. */
  readonly value: string
  readonly summary: string
  readonly need: "required" | "optional" | "many"
  readonly choices?: ReadonlyArray<string> | undefined
  /** Whether an empty text is valid. Defaults to false. */
  readonly mayBeEmpty?: boolean | undefined
}

export interface Spec {
  readonly name: string
  /** One line. */
  readonly summary: string
  readonly details?: string | undefined
  readonly group: Group
  /** In the order of the command line. */
  readonly arguments: Readonly<Record<string, Argument>>
  readonly options: Readonly<Record<string, Option>>
  /** The placeholder of the words after `--`. Without it, these words are arguments. */
  readonly rest?: string | undefined
  readonly examples: readonly [string, ...ReadonlyArray<string>]
}

export type Group = "inspect" | "use" | "configure" | "control" | "log in" | "run"

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

/** Returns the spec with its exact type, from which {@link Input} is derived. */
export const command = <const S extends Spec>(spec: S): S => spec

/** The options of every command. */
export const shared = {
  config: texts("FILE", "Use this config file as well; it overrides the project and global files; may be repeated"),
  cwd: text("DIR", "Use this directory as the working directory"),
  stateDir: text("DIR", "The state directory, which contains logins, approvals and the files of the daemon"),
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

/** The parsed options and arguments of a command. */
export type Input<S extends Spec> = Shared &
  Values<S["options"]> & { readonly [Key in keyof S["arguments"]]: ArgumentOf<S["arguments"][Key]> } & {
    readonly rest: ReadonlyArray<string>
  }

/** All options of a command, by their names on the command line. */
export const optionsOf = (spec: Spec): ReadonlyMap<string, { readonly key: string; readonly option: Option }> =>
  new Map(Object.entries({ ...spec.options, ...shared }).map(([key, option]) => [kebab(key), { key, option }] as const))

export const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
