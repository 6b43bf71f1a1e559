import { ToolChoice_Mode as Mode, Message_Role as Role, type Tool } from '#gen/portico/inference/v1/inference_pb.js'
import { textOf } from '#services/inference/domain/conversation.ts'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { isObject } from '#shared/json.ts'
import { describeProject, type MadeCall, madeCallsOf, nextLook } from './project.ts'
import { type EchoScript, parseScript, type ScriptedCall } from './script.ts'
import { tale } from './words.ts'

/** How many characters of a question are repeated. */
const MAX_SAID = 1_000_000
/** How many words of the beginning and of the end of a conversation a summary has. */
const SUMMARY_WORDS = 60
const MAX_WORDS = 1_000_000
/** Maximum number of characters of a title. */
const MAX_TITLE = 50

/** A call that is made: of a function with JSON, or of a custom tool with any text. */
export interface EchoCall {
  readonly tool: Pick<Tool, 'name' | 'custom' | 'namespace'>
  readonly arguments: string
}

/** What portico/echo does in one turn: it thinks, and then calls tools or answers. */
export interface EchoTurn {
  readonly script: EchoScript
  readonly calls: readonly EchoCall[]
  /** Empty if there are calls. */
  readonly answer: string
  /** The stop text that ended the answer; undefined: none. */
  readonly stopText: string | undefined
}

/**
 * Decides a turn from the conversation alone: the lines of the last user message, and the calls made since. Several
 * `/tool` lines become calls of one step, or of one step each if `parallel_tool_calls` is false. Only tools that are
 * offered and that `tool_choice` allows are called; if it demands a call, every turn makes one. A structured answer is
 * the JSON that the prompt is, else `{}`.
 */
export function decideTurn(request: ProviderRequest): EchoTurn {
  const last = request.messages.findLastIndex(({ role }) => role === Role.USER)
  const parts = request.messages[last]?.parts ?? []
  // Attachments and notes follow the lines of the prompt, as parts of their own.
  const text = parts.flatMap(({ part }) => (part.case === 'text' ? [part.value.text] : [])).join('\n')
  if (request.origin === 'title') {
    return { script: parseScript(''), calls: [], answer: titleOf(text), stopText: undefined }
  }
  if (request.origin === 'compaction') {
    return { script: parseScript(''), calls: [], answer: summaryOf(text), stopText: undefined }
  }
  const script = parseScript(text)
  const done = madeCallsOf(request.messages.slice(last + 1))
  const tools = callable(request)
  const wanted = script.calls.filter(({ name }) => tools.some((tool) => tool.name === name))
  const calls = callsOf(request, script, tools, pendingOf(wanted, done), done).map((call) => callOf(call, tools))
  const answer = calls.length > 0 ? '' : answerOf(request, script, tools, done)
  return { script, calls, ...cutAtStop(answer, request.sampling?.stop ?? []) }
}

/**
 * The calls that are left, compared by name, not by number: a tool that an earlier step did not know may be offered by
 * now.
 */
function pendingOf(calls: readonly ScriptedCall[], done: readonly MadeCall[]): readonly ScriptedCall[] {
  const names = done.map(({ call }) => call.name)
  return calls.filter(({ name }) => {
    const at = names.indexOf(name)
    if (at >= 0) names.splice(at, 1)
    return at < 0
  })
}

function callOf({ name, arguments: text }: ScriptedCall, tools: readonly Tool[]): EchoCall {
  const tool: EchoCall['tool'] = tools.find((each) => each.name === name) ?? { name }
  return { tool, arguments: text === '' && tool.custom === undefined ? '{}' : text }
}

/** An answer up to the stop text that comes first. */
function cutAtStop(answer: string, stops: readonly string[]): Pick<EchoTurn, 'answer' | 'stopText'> {
  let [end, stopText]: [number, string | undefined] = [answer.length, undefined]
  for (const stop of stops) {
    const at = stop === '' ? -1 : answer.indexOf(stop)
    if (at >= 0 && at < end) [end, stopText] = [at, stop]
  }
  return { answer: answer.slice(0, end).toWellFormed(), stopText }
}

/** The beginning and the end of what is to be summarized. */
function summaryOf(text: string): string {
  const words = text.split(/\s+/, MAX_WORDS)
  const first = words.slice(0, SUMMARY_WORDS)
  const last = words.slice(SUMMARY_WORDS).slice(-SUMMARY_WORDS)
  return `portico/echo cannot summarize. The conversation begins: ${first.join(' ')}\n\nIt ends: ${last.join(' ')}`
}

/** As many words as fit of the first line that is not a command, or else of the first line. */
function titleOf(text: string): string {
  const line = `${parseScript(text).rest}\n${text}`.trim().split('\n', 1)[0] ?? ''
  if (line.length <= MAX_TITLE) return line
  return line
    .slice(0, MAX_TITLE + 1)
    .replace(/\s+\S*$/, '')
    .slice(0, MAX_TITLE)
    .toWellFormed()
}

function callsOf(
  request: ProviderRequest,
  script: EchoScript,
  tools: readonly Tool[],
  pending: readonly ScriptedCall[],
  done: readonly MadeCall[],
): readonly ScriptedCall[] {
  if (pending.length > 0) return request.parallelToolCalls === false ? pending.slice(0, 1) : pending
  const look = looksAround(script) ? nextLook(tools, done) : undefined
  if (look !== undefined) return [look]
  const [first] = tools
  const mode = request.toolChoice?.mode
  if (first === undefined || (mode !== Mode.REQUIRED && mode !== Mode.NAMED)) return []
  return [{ name: first.name, arguments: '' }]
}

function answerOf(
  request: ProviderRequest,
  script: EchoScript,
  tools: readonly Tool[],
  done: readonly MadeCall[],
): string {
  const format = request.responseFormat?.format.case
  const text = script.rest.slice(0, MAX_SAID).toWellFormed()
  if (format === 'jsonSchema' || format === 'jsonObject') return isJsonObject(text) ? text : '{}'
  if (script.length !== undefined) return tale(script.length)
  const sentences: string[] = []
  if (
    done.length > 0 &&
    looksAround(script) &&
    done.every(({ call }) => call.name === 'list' || call.name === 'read')
  ) {
    return describeProject(done)
  }
  for (const { call, result } of done) {
    const verb = result === undefined ? 'has not returned' : result.failed ? 'failed:\n' : 'returned:\n'
    sentences.push(`${call.name} ${verb}${result === undefined ? '.' : textOf(result.content)}`)
  }
  for (const { name } of script.calls) {
    if (!tools.some((tool) => tool.name === name)) sentences.push(`The tool ${name} is not available.`)
  }
  if (sentences.length > 0) return sentences.join('\n\n')
  return `This is portico/echo, the built-in model that needs no network.${text === '' ? '' : ` You said: ${text}`}`
}

function looksAround(script: EchoScript): boolean {
  return script.calls.length === 0 && script.length === undefined && script.rest !== ''
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

function callable({ tools, toolChoice }: ProviderRequest): readonly Tool[] {
  if (toolChoice?.mode === Mode.NONE) return []
  if (toolChoice?.mode === Mode.NAMED) return tools.filter(({ name }) => name === toolChoice.name)
  return tools
}
