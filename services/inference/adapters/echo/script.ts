import type { JsonObject } from '#shared/json.ts'
import { objectAt } from '../http/json.ts'

/** A call that a line of the prompt demands. */
export interface ScriptedCall {
  readonly name: string
  /** The text after the name, unchanged; empty if there is none. */
  readonly arguments: string
}

/** A source that a line of the prompt gives to the answer. */
export interface ScriptedSource {
  readonly url: string
  readonly title: string
}

/** An item, as if of a provider's own, that a line of the prompt makes the model emit. */
export interface ScriptedItem {
  readonly format: string
  readonly item: JsonObject
}

/** What the lines of a prompt make portico/echo do. */
export interface EchoScript {
  readonly calls: readonly ScriptedCall[]
  /** Texts of `/reasoning` lines; empty: none. */
  readonly reasoning: string
  /** Proof of the thought; empty: none. */
  readonly proof: string
  /** Sources of the answer. */
  readonly sources: readonly ScriptedSource[]
  /** Items of a provider's own. */
  readonly items: readonly ScriptedItem[]
  /** Text of a refusal; empty: the model does not refuse. */
  readonly refusal: string
  /** Whether it makes a picture. */
  readonly draws: boolean
  /** Whether the answer lists the settings of the request. */
  readonly settings: boolean
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
 * Reads the first 10,000 lines of a prompt: `/tool NAME {json}`, `/reasoning TEXT`, `/proof SIGNATURE`, `/slow MS` (at
 * most 60,000), `/fail STATUS`, `/fail STATUS after N`, `/length N` (at most 100,000), `/source URL TITLE`, `/item
 * FORMAT {json}`, `/refusal TEXT`, `/image` and `/settings`. Lines in none of these forms are text, and so is
 * everything after the first 10,000.
 */
export function parseScript(prompt: string): EchoScript {
  const lists = { calls: [] as ScriptedCall[], sources: [] as ScriptedSource[], items: [] as ScriptedItem[] }
  const reasoning: string[] = []
  const refusal: string[] = []
  const rest: string[] = []
  let script = { proof: '', draws: false, settings: false, slowMs: 0 }
  let failure: EchoScript['failure']
  let length: number | undefined
  const { lines, behind } = firstLines(prompt)
  for (const line of lines) {
    const [, word = '', argument = ''] = WORDS.exec(line.trim()) ?? []
    const number = /^\d{1,9}$/.test(argument) ? Number(argument) : undefined
    const fail = /^([45]\d\d)(?:\s+after\s+(\d{1,9}))?$/.exec(argument)
    const [, name = '', text = ''] = /^(\S+)\s*(.*)$/s.exec(argument) ?? []
    const item = word === 'item' ? jsonIn(text) : undefined
    if (word === 'tool') lists.calls.push({ name, arguments: text })
    else if (word === 'source') lists.sources.push({ url: name, title: text })
    else if (item !== undefined) lists.items.push({ format: name, item })
    else if (word === 'reasoning') reasoning.push(argument)
    else if (word === 'refusal') refusal.push(argument)
    else if (word === 'proof') script = { ...script, proof: argument }
    else if (line.trim() === '/image') script = { ...script, draws: true }
    else if (line.trim() === '/settings') script = { ...script, settings: true }
    else if (word === 'slow' && number !== undefined) script = { ...script, slowMs: Math.min(number, MAX_SLOW_MS) }
    else if (word === 'length' && number !== undefined) length = Math.min(number, MAX_LENGTH)
    else if (word === 'fail' && fail !== null) failure = { status: Number(fail[1]), afterWords: Number(fail[2] ?? 0) }
    else rest.push(line)
  }
  rest.push(behind)
  const said = { reasoning: reasoning.join('\n'), refusal: refusal.join('\n'), rest: rest.join('\n').trim() }
  return { ...script, ...lists, ...said, failure, length }
}

const WORDS = /^\/(tool|reasoning|proof|slow|fail|length|source|item|refusal)\s+(.*)$/s

function jsonIn(text: string): JsonObject | undefined {
  try {
    return objectAt(JSON.parse(text))
  } catch {
    return undefined
  }
}

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
