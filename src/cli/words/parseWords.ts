/**
 * Parses the words of a command line to the input of one command. An unknown word is an error and never becomes the value of
 * something else.
 */
import { excerpt } from "../../domain/internal/excerpt.js"
import { nearest } from "../../domain/internal/nearest.js"
import { type Argument, type Option, optionsOf, type Shared, type Spec, shared, kebab } from "./spec.js"

/** The options of every command, and the values of the command's own options and arguments. */
export type ParsedInput = Shared & Readonly<Record<string, unknown>>

export type ParsedCommand<Name extends string = string> =
  | { readonly _tag: "Run"; readonly command: Name; readonly input: ParsedInput }
  | { readonly _tag: "Help"; readonly command?: Name | undefined }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Invalid"; readonly command?: Name | undefined; readonly message: string }

/** Thrown to end parsing. */
class Invalid {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

type NamedSpec<Name extends string> = Spec & { readonly name: Name }

export const parse = <Name extends string>(
  specs: ReadonlyArray<NamedSpec<Name>>,
  words: ReadonlyArray<string>
): ParsedCommand<Name> => {
  const { after, before, command } = split(words)
  if (command === undefined) {
    if (before.includes("--version") || before.includes("-V")) return { _tag: "Version" }
    if (before.includes("--help") || before.includes("-h")) return { _tag: "Help" }
    const [first] = before
    const message = first === undefined ? "a command is missing" : `${excerpt(first)} is not a command`
    return { _tag: "Invalid", message }
  }
  const isHelp = command === "help"
  const name = isHelp ? after.find((word) => !word.startsWith("-")) : command
  if (name === undefined) return { _tag: "Help" }
  const spec = specs.find((each) => each.name === name)
  if (spec === undefined) return { _tag: "Invalid", message: unknownCommand(name, specs) }
  if (isHelp) return { _tag: "Help", command: spec.name }
  try {
    const input = read(spec, [...before, ...after])
    return input === undefined ? { _tag: "Help", command: spec.name } : { _tag: "Run", command: spec.name, input }
  } catch (error) {
    if (error instanceof Invalid) return { _tag: "Invalid", command: spec.name, message: error.message }
    throw error
  }
}

const unknownCommand = (name: string, specs: ReadonlyArray<Spec>): string => {
  const meant = nearest(name, [...specs.map((each) => each.name), "help"])
  return `unknown command "${excerpt(name)}"${meant === undefined ? "" : `; did you mean "${meant}"?`}`
}

interface Split {
  readonly before: ReadonlyArray<string>
  readonly command: string | undefined
  readonly after: ReadonlyArray<string>
}

/** Finds the command: the first word that is neither an option nor the value of an option of every command. */
const split = (words: ReadonlyArray<string>): Split => {
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (!word.startsWith("-")) {
      return { before: words.slice(0, index), command: word, after: words.slice(index + 1) }
    }
    const option = Object.entries(shared).find(([key]) => word === `--${kebab(key)}`)?.[1]
    if (option !== undefined && option._tag !== "Flag") index++
  }
  return { before: words, command: undefined, after: [] }
}

/** Returns the input of a command, or `undefined` if the words contain `--help`, even beside invalid words. */
const read = (spec: Spec, words: ReadonlyArray<string>): ParsedInput | undefined => {
  const options = optionsOf(spec)
  const given = new Map<string, Array<string>>()
  const positional: Array<string> = []
  const errors: Array<string> = []
  let rest: ReadonlyArray<string> = []

  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (word === "--") {
      const others = words.slice(index + 1)
      if (spec.rest === undefined) for (const other of others) positional.push(other)
      else rest = others
      break
    }
    if (!word.startsWith("-") || word === "-" || isNumber(word)) {
      positional.push(word)
      continue
    }
    const found = lookUp(options, word)
    if (found === undefined) {
      errors.push(unknownOption(word, options))
      continue
    }
    const { attached, key, name, option } = found
    const values = given.get(key) ?? []
    given.set(key, values)
    if (option._tag === "Flag") {
      if (attached !== undefined) errors.push(`--${name} takes no value`)
      values.push("")
      continue
    }
    if (values.length > 0 && option._tag !== "Texts") errors.push(`--${name} is set twice`)
    const isGreedy = option._tag === "Texts" && option.greedy === true
    if ((attached ?? words[index + 1]) === "" && !isGreedy) {
      errors.push(`--${name} requires a value that is not empty: --${name} ${option.value}`)
    }
    if (attached !== undefined) {
      values.push(attached)
      continue
    }
    // Among the words of another program, a short option belongs to that program.
    const isValue = (next: string | undefined): next is string =>
      next !== undefined && next !== "--" && (lookUp(options, next) === undefined || (isGreedy && /^-\w$/.test(next)))
    if (!isValue(words[index + 1])) {
      errors.push(`--${name} requires a value: --${name} ${option.value}`)
      continue
    }
    values.push(words[++index]!)
    if (isGreedy) while (isValue(words[index + 1])) values.push(words[++index]!)
  }
  if (given.has("help")) return undefined
  if (errors.length > 0) throw new Invalid(errors[0]!)
  return { ...optionValues(options, given), ...argumentValues(spec, positional), rest } as unknown as ParsedInput
}

/** `-1` is a value, not an option. */
const isNumber = (word: string): boolean => /^-\d/.test(word)

type Options = ReturnType<typeof optionsOf>

const lookUp = (options: Options, word: string) => {
  if (word.startsWith("--")) {
    const equals = word.indexOf("=")
    const name = word.slice(2, equals === -1 ? undefined : equals)
    const found = options.get(name)
    return found && { ...found, name, attached: equals === -1 ? undefined : word.slice(equals + 1) }
  }
  for (const [name, found] of options) {
    const { option } = found
    if (option._tag === "Flag" && option.alias !== undefined && word === `-${option.alias}`) {
      return { ...found, name, attached: undefined }
    }
  }
  return undefined
}

const unknownOption = (word: string, options: Options): string => {
  const name = word.replace(/^-+/, "").replace(/=.*$/s, "")
  const meant = nearest(name, options.keys())
  return `unknown option ${excerpt(word.replace(/=.*$/s, ""))}${meant === undefined ? "" : `; did you mean --${meant}?`}`
}

const optionValues = (options: Options, given: ReadonlyMap<string, ReadonlyArray<string>>) =>
  Object.fromEntries(
    Array.from(options, ([name, { key, option }]) => [key, optionValue(name, option, given.get(key) ?? [])])
  )

const optionValue = (name: string, option: Option, values: ReadonlyArray<string>): unknown => {
  const [value] = values
  switch (option._tag) {
    case "Flag":
      return value !== undefined
    case "Texts":
      return values
    case "Text":
      if (value !== undefined && option.choices !== undefined) oneOf(`--${name}`, value, option.choices)
      return value
    case "Whole": {
      if (value === undefined) return undefined
      if (!/^\d+$/.test(value) || Number(value) > option.max) {
        throw new Invalid(`--${name} must be a whole number from 0 to ${option.max}`)
      }
      return Number(value)
    }
  }
}

const oneOf = (what: string, value: string, choices: ReadonlyArray<string>): void => {
  if (choices.includes(value)) return
  const meant = nearest(value, choices)
  throw new Invalid(
    `${what} must be one of ${choices.join(", ")}${meant === undefined ? "" : `; did you mean ${meant}?`}`
  )
}

const argumentValues = (spec: Spec, positional: ReadonlyArray<string>): Readonly<Record<string, unknown>> => {
  const left = [...positional]
  const values = Object.entries(spec.arguments).map(([key, argument]): [string, unknown] => {
    const isEmpty = (value: string | undefined) => value === "" && argument.mayBeEmpty !== true
    const empty = () => new Invalid(`<${argument.value}> is empty: ${meaning(argument)}`)
    if (argument.need === "many") {
      if (left.some(isEmpty)) throw empty()
      return [key, left.splice(0)]
    }
    const value = left.shift()
    if (isEmpty(value)) throw empty()
    if (value === undefined && argument.need === "required")
      throw new Invalid(`<${argument.value}> is missing: ${meaning(argument)}`)
    if (value !== undefined && argument.choices !== undefined) oneOf(`<${argument.value}>`, value, argument.choices)
    return [key, value]
  })
  if (left.length > 0) throw new Invalid(`unexpected argument "${excerpt(left[0]!)}"`)
  return Object.fromEntries(values)
}

const meaning = ({ choices, summary }: Argument): string =>
  choices === undefined ? summary[0]!.toLowerCase() + summary.slice(1) : `one of ${choices.join(", ")}`
