/**
 * Writes scripts with which a shell completes commands, options and choices.
 */
import { type Argument, kebab, type Option, type Spec, shared } from "./spec.js"

export const shells = ["bash", "zsh", "fish"] as const

export type Shell = (typeof shells)[number]

const program = "mcp-supervisor"

export const script = (shell: Shell, specs: ReadonlyArray<Spec>): string => {
  switch (shell) {
    case "bash":
      return bash(specs)
    case "zsh":
      return zsh(specs)
    case "fish":
      return fish(specs)
  }
}

const optionsOf = (spec: Spec): ReadonlyArray<readonly [string, Option]> => [
  ...Object.entries(spec.options),
  ...Object.entries(shared)
]

const wordsOf = (spec: Spec): ReadonlyArray<string> => [
  ...optionsOf(spec).map(([key]) => `--${kebab(key)}`),
  ...Object.values(spec.arguments).flatMap(({ choices = [] }) => choices)
]

/** How a shell completes the value of an option. */
const valueKind = (option: Option): "none" | "directory" | "file" | ReadonlyArray<string> | "text" => {
  if (option._tag === "Flag") return "none"
  if (option.value === "DIR") return "directory"
  if (option.value === "FILE") return "file"
  return option._tag === "Text" && option.choices !== undefined ? option.choices : "text"
}

const bash = (specs: ReadonlyArray<Spec>): string => {
  const valued = new Map<string, ReturnType<typeof valueKind>>()
  for (const [key, option] of specs.flatMap(optionsOf)) valued.set(`--${kebab(key)}`, valueKind(option))
  const ofKind = (wanted: string) =>
    Array.from(valued)
      .filter(([, kind]) => kind === wanted)
      .map(([name]) => name)
      .join("|")
  const choices = Array.from(valued).flatMap(([name, kind]) =>
    typeof kind === "string" ? [] : [`    ${name}) COMPREPLY=($(compgen -W "${kind.join(" ")}" -- "$cur")); return ;;`]
  )
  return `# ${program} completions for bash: eval "$(${program} completions bash)"
_mcp_supervisor() {
  local cur prev word command=""
  COMPREPLY=()
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$prev" in
    ${ofKind("directory")}) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    ${ofKind("file")}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
${choices.join("\n")}
    ${ofKind("text")}) return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      -*) ;;
      *) command="$word"; break ;;
    esac
  done
  case "$command" in
    "") COMPREPLY=($(compgen -W "${specs.map(({ name }) => name).join(" ")} help --help --version" -- "$cur")) ;;
${specs.map((spec) => `    ${spec.name}) COMPREPLY=($(compgen -W "${wordsOf(spec).join(" ")}" -- "$cur")) ;;`).join("\n")}
  esac
}
complete -o default -F _mcp_supervisor ${program}
`
}

const quoted = (text: string): string => text.replaceAll("'", "'\\''")

/** Escapes the characters that have a meaning in a description for zsh. */
const zshText = (text: string): string => quoted(text).replace(/[[\]:\\]/g, (letter) => `\\${letter}`)

const zshAction = (kind: ReturnType<typeof valueKind>): string => {
  if (kind === "directory") return "_files -/"
  if (kind === "file") return "_files"
  return typeof kind === "string" ? "" : `(${kind.join(" ")})`
}

const zsh = (specs: ReadonlyArray<Spec>): string => {
  const option = ([key, each]: readonly [string, Option]): string => {
    const kind = valueKind(each)
    const many = each._tag === "Texts" ? "*" : ""
    const value = each._tag === "Flag" ? "" : `:${zshText(each.value)}:${zshAction(kind)}`
    return `'${many}--${kebab(key)}[${zshText(each.summary)}]${value}'`
  }
  const argument = ({ choices, need, value }: Argument): string =>
    `'${need === "many" ? "*" : need === "optional" ? ":" : ""}:${zshText(value)}:${choices === undefined ? "" : `(${choices.join(" ")})`}'`
  const cases = specs.map((spec) => {
    const parts = [...optionsOf(spec).map(option), ...Object.values(spec.arguments).map(argument)]
    return `    ${spec.name}) _arguments -s ${parts.join(" ")} ;;`
  })
  return `#compdef ${program}
# ${program} completions for zsh: eval "$(${program} completions zsh)"
_mcp_supervisor() {
  local -a commands
  commands=(
${specs.map(({ name, summary }) => `    '${name}:${zshText(summary)}'`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
compdef _mcp_supervisor ${program}
`
}

const fish = (specs: ReadonlyArray<Spec>): string => {
  const names = specs.map(({ name }) => name).join(" ")
  const line = (spec: Spec) => (rest: string) =>
    `complete -c ${program} -n '__fish_seen_subcommand_from ${spec.name}' ${rest}`
  const option = ([key, each]: readonly [string, Option]): string => {
    const kind = valueKind(each)
    const alias = each._tag === "Flag" && each.alias !== undefined ? ` -s ${each.alias}` : ""
    const value =
      kind === "none"
        ? ""
        : kind === "file" || kind === "directory"
          ? " -r -F"
          : kind === "text"
            ? " -x"
            : ` -x -a '${kind.join(" ")}'`
    return `-l ${kebab(key)}${alias}${value} -d '${quoted(each.summary)}'`
  }
  return `# ${program} completions for fish: ${program} completions fish | source
complete -c ${program} -f
${specs
  .flatMap((spec) => [
    `complete -c ${program} -n 'not __fish_seen_subcommand_from ${names}' -a ${spec.name} -d '${quoted(spec.summary)}'`,
    ...optionsOf(spec).map(option).map(line(spec)),
    ...Object.values(spec.arguments).flatMap(({ choices }) =>
      choices === undefined ? [] : [line(spec)(`-a '${choices.join(" ")}'`)]
    )
  ])
  .join("\n")}
`
}
