/** Evaluates a report of StrykerJS: the score of each file, and the mutants that no test notices. */

/** The share of mutants that tests must notice, in percent. */
const targets = [
  [/^src\/domain\/(server\/Lifecycle|server\/RestartPolicy|catalog\/ToolName|Secrets)(\.ts|\/)/, 90],
  [/^src\//, 80]
]

const targetOf = (file) => targets.find(([pattern]) => pattern.test(file))[1]

const isNoticed = ({ status }) => status === "Killed" || status === "Timeout"
const isUnnoticed = ({ status }) => status === "Survived" || status === "NoCoverage"

/** The text that a mutant replaces. */
const originalOf = (lines, { end, start }) => {
  const text = lines.slice(start.line - 1, end.line)
  text[text.length - 1] = text.at(-1).slice(0, end.column - 1)
  text[0] = text[0].slice(start.column - 1)
  return text.map((line) => line.trim()).join(" ")
}

/** Names a mutant by what it changes, not by its line, which moves. */
const keyOf = ({ file, mutator, original, replacement }) => JSON.stringify([file, mutator, original, replacement])

const described = (file, lines, { location, mutatorName, replacement }) => ({
  file,
  line: location.start.line,
  mutator: mutatorName,
  original: originalOf(lines, location),
  replacement: replacement
    .split("\n")
    .map((line) => line.trim())
    .join(" ")
})

/** The scores of a report as `{ file, score, noticed, mutants }`, and its mutants that no test notices. */
export const scoresOf = (report) => {
  const scores = []
  const survivors = []
  for (const [file, { mutants, source }] of Object.entries(report.files)) {
    const noticed = mutants.filter(isNoticed).length
    const unnoticed = mutants.filter(isUnnoticed)
    const total = noticed + unnoticed.length
    if (total === 0) continue
    scores.push({ file, score: (100 * noticed) / total, noticed, mutants: total })
    const lines = source.split("\n")
    for (const mutant of unnoticed) survivors.push(described(file, lines, mutant))
  }
  return { scores, survivors }
}

/** Whether every file reaches its target and every survivor is listed, and the lines that say so. */
export const judge = (report, listed) => {
  const { scores, survivors } = scoresOf(report)
  const keys = new Set(listed.map(keyOf))
  const unlisted = survivors.filter((mutant) => !keys.has(keyOf(mutant)))
  const below = scores.filter(({ file, score }) => score < targetOf(file))
  const lines = scores.map(
    ({ file, mutants, noticed, score }) =>
      `${score.toFixed(1).padStart(5)} %  ${file} (${noticed} of ${mutants}; target ${targetOf(file)} %)`
  )
  for (const { file } of below) lines.push(`below its target: ${file}`)
  for (const { file, line, mutator, original, replacement } of unlisted)
    lines.push(`not noticed and not listed: ${file}:${line} ${mutator}: ${original} → ${replacement}`)
  return { isMet: below.length === 0 && unlisted.length === 0, lines }
}
