/** A call that a line of the prompt demands. */
export interface ScriptedCall {
  readonly name: string
  /** The text after the name, unchanged; empty if there is none. */
  readonly arguments: string
}

/** What the lines of a prompt make portico/echo do. */
export interface EchoScript {
  readonly calls: readonly ScriptedCall[]
  /** Texts of `/reasoning` lines; empty: none. */
  readonly reasoning: string
  /** Pause before each word. */
  readonly slowMs: number
  readonly failure: { readonly status: number; readonly afterWords: number } | undefined
  /** Number of words in the answer; undefined: no `/length` line. */
  readonly length: number | undefined
  /** All other lines. */
  readonly rest: string
}

const MAX_SLOW_MS = 60_000
const MAX_LENGTH = 100_000
/** How many lines of a prompt may contain commands; there may be millions of lines. */
const MAX_LINES = 10_000

/**
 * Reads the first 10,000 lines of a prompt: `/tool NAME {json}`, `/reasoning TEXT`, `/slow MS` (at most 60,000), `/fail
 * STATUS`, `/fail STATUS after N` and `/length N` (at most 100,000). Lines in none of these forms are text, and so is
 * everything after the first 10,000.
 */
export function parseScript(prompt: string): EchoScript {
  const calls: ScriptedCall[] = []
  const reasoning: string[] = []
  const rest: string[] = []
  let slowMs = 0
  let failure: EchoScript['failure']
  let length: number | undefined
  const { lines, behind } = firstLines(prompt)
  for (const line of lines) {
    const [, word = '', argument = ''] = WORDS.exec(line.trim()) ?? []
    const number = /^\d{1,9}$/.test(argument) ? Number(argument) : undefined
    const fail = /^([45]\d\d)(?:\s+after\s+(\d{1,9}))?$/.exec(argument)
    const [, name = '', text = ''] = /^(\S+)\s*(.*)$/s.exec(argument) ?? []
    if (word === 'tool') calls.push({ name, arguments: text })
    else if (word === 'reasoning') reasoning.push(argument)
    else if (word === 'slow' && number !== undefined) slowMs = Math.min(number, MAX_SLOW_MS)
    else if (word === 'length' && number !== undefined) length = Math.min(number, MAX_LENGTH)
    else if (word === 'fail' && fail !== null) failure = { status: Number(fail[1]), afterWords: Number(fail[2] ?? 0) }
    else rest.push(line)
  }
  rest.push(behind)
  return { calls, reasoning: reasoning.join('\n'), slowMs, failure, length, rest: rest.join('\n').trim() }
}

const WORDS = /^\/(tool|reasoning|slow|fail|length)\s+(.*)$/s

/** The lines of a text that may contain commands, and the text after them. */
function firstLines(text: string): { readonly lines: readonly string[]; readonly behind: string } {
  const lines: string[] = []
  let at = 0
  while (lines.length < MAX_LINES && at <= text.length) {
    const end = text.indexOf('\n', at)
    lines.push(text.slice(at, end === -1 ? text.length : end))
    at = end === -1 ? text.length + 1 : end + 1
  }
  return { lines, behind: text.slice(at) }
}
