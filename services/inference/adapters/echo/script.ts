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

/**
 * Reads the lines of a prompt: `/tool NAME {json}`, `/reasoning TEXT`, `/slow MS` (at most 60,000), `/fail STATUS`,
 * `/fail STATUS after N`, `/length N` (at most 100,000). A line that follows none of these forms is text.
 */
export function parseScript(prompt: string): EchoScript {
  const calls: ScriptedCall[] = []
  const reasoning: string[] = []
  const rest: string[] = []
  let slowMs = 0
  let failure: EchoScript['failure']
  let length: number | undefined
  for (const line of prompt.split('\n')) {
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
  return { calls, reasoning: reasoning.join('\n'), slowMs, failure, length, rest: rest.join('\n').trim() }
}
