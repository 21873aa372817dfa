/**
 * From words to the input of one command. Strict: a word that is not understood is a mistake, never a value for something else.
 */
import { excerpt } from "../../domain/internal/excerpt.js"
import { nearest } from "../../domain/internal/nearest.js"
import { type Argument, type Option, optionsOf, type Spec, shared, kebab } from "./spec.js"

export type Parsed =
  | { readonly _tag: "Run"; readonly command: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly _tag: "Help"; readonly command?: string | undefined }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Wrong"; readonly command?: string | undefined; readonly message: string }

/** Ends parsing. */
class Wrong {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

export const parse = (specs: ReadonlyArray<Spec>, words: ReadonlyArray<string>): Parsed => {
  const { before, command, rest } = split(words)
  const end = rest.indexOf("--")
  const own = [...before, ...(end === -1 ? rest : rest.slice(0, end))]
  if (command === undefined) {
    if (own.includes("--version") || own.includes("-V")) return { _tag: "Version" }
    if (own.includes("--help") || own.includes("-h")) return { _tag: "Help" }
    return { _tag: "Wrong", message: own.length === 0 ? "a command is missing" : `${excerpt(own[0]!)} is no command` }
  }
  const known = specs.map(({ name }) => name)
  const unknown = (name: string): Parsed => {
    const meant = nearest(name, [...known, "help"])
    return {
      _tag: "Wrong",
      message: `there is no command "${excerpt(name)}"${meant ? `; did you mean "${meant}"?` : ""}`
    }
  }
  if (command === "help") {
    const about = rest.find((word) => !word.startsWith("-"))
    return about === undefined || known.includes(about) ? { _tag: "Help", command: about } : unknown(about)
  }
  const spec = specs.find(({ name }) => name === command)
  if (spec === undefined) return unknown(command)
  try {
    const input = read(spec, [...before, ...rest])
    return input === undefined ? { _tag: "Help", command } : { _tag: "Run", command, input }
  } catch (wrong) {
    if (wrong instanceof Wrong) return { _tag: "Wrong", command, message: wrong.message }
    throw wrong
  }
}

interface Split {
  readonly before: ReadonlyArray<string>
  readonly command: string | undefined
  readonly rest: ReadonlyArray<string>
}

/** The first word that is no option, nor the value of one that every command takes. */
const split = (words: ReadonlyArray<string>): Split => {
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (!word.startsWith("-")) {
      return { before: words.slice(0, index), command: word, rest: words.slice(index + 1) }
    }
    const option = Object.entries(shared).find(([key]) => word === `--${kebab(key)}`)?.[1]
    if (option !== undefined && option._tag !== "Flag") index++
  }
  return { before: words, command: undefined, rest: [] }
}

/** Nothing where help is asked for, whatever else is wrong. */
const read = (spec: Spec, words: ReadonlyArray<string>): Readonly<Record<string, unknown>> | undefined => {
  const options = optionsOf(spec)
  const given = new Map<string, Array<string>>()
  const plain: Array<string> = []
  const wrong: Array<string> = []
  let rest: ReadonlyArray<string> = []

  const isOption = (word: string): boolean => lookUp(options, word) !== undefined

  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (word === "--") {
      const others = words.slice(index + 1)
      if (spec.rest === undefined) for (const other of others) plain.push(other)
      else rest = others
      break
    }
    if (!word.startsWith("-") || word === "-" || isNumber(word)) {
      plain.push(word)
      continue
    }
    const found = lookUp(options, word)
    if (found === undefined) {
      wrong.push(unknownOption(word, options))
      continue
    }
    const { attached, key, name, option } = found
    const values = given.get(key) ?? []
    given.set(key, values)
    if (option._tag === "Flag") {
      if (attached !== undefined) wrong.push(`--${name} takes no value`)
      values.push("")
      continue
    }
    if (values.length > 0 && option._tag !== "Texts") wrong.push(`--${name} is given twice`)
    const isGreedy = option._tag === "Texts" && option.greedy === true
    if ((attached ?? words[index + 1]) === "" && !isGreedy) {
      wrong.push(`--${name} needs a value that is not empty: --${name} ${option.value}`)
    }
    if (attached !== undefined) {
      values.push(attached)
      continue
    }
    // a letter among the words for another program is for that program
    const isValue = (next: string | undefined): next is string =>
      next !== undefined && next !== "--" && !(isOption(next) && !(isGreedy && /^-\w$/.test(next)))
    if (!isValue(words[index + 1])) {
      wrong.push(`--${name} needs a value: --${name} ${option.value}`)
      continue
    }
    values.push(words[++index]!)
    if (isGreedy) while (isValue(words[index + 1])) values.push(words[++index]!)
  }
  if (given.has("help")) return undefined
  if (wrong.length > 0) throw new Wrong(wrong[0]!)
  return { ...optionValues(options, given), ...argumentValues(spec, plain), rest }
}

/** So that `-1` is a value. */
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
  return `there is no option ${excerpt(word.replace(/=.*$/s, ""))}${meant === undefined ? "" : `; did you mean --${meant}?`}`
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
        throw new Wrong(`--${name} has to be a whole number from 0 to ${option.max}`)
      }
      return Number(value)
    }
  }
}

const oneOf = (what: string, value: string, choices: ReadonlyArray<string>): void => {
  if (choices.includes(value)) return
  const meant = nearest(value, choices)
  throw new Wrong(
    `${what} has to be one of ${choices.join(", ")}${meant === undefined ? "" : `; did you mean ${meant}?`}`
  )
}

const argumentValues = (spec: Spec, plain: ReadonlyArray<string>): Readonly<Record<string, unknown>> => {
  const left = [...plain]
  const values = Object.entries(spec.arguments).map(([key, argument]): [string, unknown] => {
    const isEmpty = (value: string | undefined) => value === "" && argument.mayBeEmpty !== true
    const empty = () => new Wrong(`<${argument.value}> is empty: ${meaning(argument)}`)
    if (argument.need === "many") {
      if (left.some(isEmpty)) throw empty()
      return [key, left.splice(0)]
    }
    const value = left.shift()
    if (isEmpty(value)) throw empty()
    if (value === undefined && argument.need === "required")
      throw new Wrong(`<${argument.value}> is missing: ${meaning(argument)}`)
    if (value !== undefined && argument.choices !== undefined) oneOf(`<${argument.value}>`, value, argument.choices)
    return [key, value]
  })
  if (left.length > 0) throw new Wrong(`"${excerpt(left[0]!)}" is one word too many`)
  return Object.fromEntries(values)
}

const meaning = ({ choices, summary }: Argument): string =>
  choices === undefined ? summary[0]!.toLowerCase() + summary.slice(1) : `one of ${choices.join(", ")}`
