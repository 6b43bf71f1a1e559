/** A call that a line of the prompt asks for. */
export interface ScriptedCall {
  readonly name: string
  /** What stands behind the name, untouched; `{}` when nothing does. */
  readonly arguments: string
}

/** What the lines of a prompt ask portico/echo to do. */
export interface EchoScript {
  readonly calls: readonly ScriptedCall[]
  /** Lines of `/reasoning`; empty: none. */
  readonly reasoning: string
  /** Pause before each word. */
  readonly slowMs: number
  readonly failure: { readonly status: number; readonly afterWords: number } | undefined
  /** Words of the answer; undefined: no `/length` line. */
  readonly length: number | undefined
  /** Every other line. */
  readonly rest: string
}

const MAX_SLOW_MS = 60_000
const MAX_LENGTH = 100_000
/** Lines of a prompt that may ask for something; there may be millions. */
const MAX_LINES = 10_000

/**
 * Reads the first 10,000 lines of a prompt: `/tool NAME {json}`, `/reasoning TEXT`, `/slow MS` (at most 60,000), `/fail STATUS`,
 * `/fail STATUS after N`, `/length N` (at most 100,000). A line that follows none of these forms is text, and so is all behind
 * them.
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
    const [, word = '', argument = ''] = /^\/(tool|reasoning|slow|fail|length)\s+(.*)$/s.exec(line.trim()) ?? []
    const number = /^\d{1,9}$/.test(argument) ? Number(argument) : undefined
    const fail = /^([45]\d\d)(?:\s+after\s+(\d{1,9}))?$/.exec(argument)
    if (word === 'tool') {
      const [, name = '', text = ''] = /^(\S+)\s*(.*)$/s.exec(argument) ?? []
      calls.push({ name, arguments: text === '' ? '{}' : text })
    } else if (word === 'reasoning') reasoning.push(argument)
    else if (word === 'slow' && number !== undefined) slowMs = Math.min(number, MAX_SLOW_MS)
    else if (word === 'length' && number !== undefined) length = Math.min(number, MAX_LENGTH)
    else if (word === 'fail' && fail !== null) failure = { status: Number(fail[1]), afterWords: Number(fail[2] ?? 0) }
    else rest.push(line)
  }
  rest.push(behind)
  return { calls, reasoning: reasoning.join('\n'), slowMs, failure, length, rest: rest.join('\n').trim() }
}

/** The lines of a text that may ask for something, and what stands behind them, as it is. */
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
