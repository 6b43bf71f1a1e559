import type { Message, Tool, ToolCallPart, ToolResultPart } from '#gen/portico/inference/v1/inference_pb.js'
import { textOf } from '#services/inference/domain/conversation.ts'
import { membersOf } from '#shared/json.ts'
import type { ScriptedCall } from './script.ts'

/** A link ends in `@`, a directory in `/`. */
const README = /(^|\/)readme(\.\w+)?@?$/i
const MAX_ENTRIES = 20
const MAX_PARAGRAPH = 400
const HOW_TO_GO_ON =
  'I am portico/echo, the built-in model: I need no network and only follow a script. For a real model, set ' +
  'OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY or OLLAMA_HOST, or name a file in PORTICO_CONFIG, and start again.'

/** The next look into the project: first its directory, then its README. Undefined: everything was seen. */
export function nextLook(tools: readonly Tool[], done: readonly MadeCall[]): ScriptedCall | undefined {
  const list = tools.find(({ name }) => name === 'list')
  const read = tools.find(({ name }) => name === 'read')
  if (list === undefined || read === undefined) return undefined
  const listing = done.find(({ call }) => call.name === 'list')
  if (listing === undefined) return { name: 'list', arguments: pathArgument(list, '.') }
  if (done.some(({ call }) => call.name === 'read')) return undefined
  const readme = entriesOf(listing).find((entry) => README.test(entry))
  return readme === undefined ? undefined : { name: 'read', arguments: pathArgument(read, readme.replace(/@$/, '')) }
}

export function describeProject(done: readonly MadeCall[]): string {
  const listing = done.find(({ call }) => call.name === 'list')
  const reading = done.find(({ call }) => call.name === 'read')
  const sentences: string[] = []
  if (listing !== undefined) {
    const entries = entriesOf(listing)
    const more = entries.length > MAX_ENTRIES ? ` and ${entries.length - MAX_ENTRIES} more` : ''
    if (listing.result?.failed === true) sentences.push('I could not list the directory.')
    else if (entries.length === 0) sentences.push('The directory is empty.')
    else sentences.push(`The directory contains ${entries.slice(0, MAX_ENTRIES).join(', ')}${more}.`)
  }
  if (reading?.result !== undefined) {
    if (reading.result.failed) sentences.push('I could not read its README.')
    else sentences.push(...describeReadme(textOf(reading.result.content)))
  } else if (listing?.result?.failed === false) sentences.push('It has no README.')
  return `${sentences.join('\n\n')}\n\n${HOW_TO_GO_ON}`
}

function describeReadme(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/^\s*\d+\s*[:|\t→]\s?/, ''))
  const heading = lines.find((line) => /^#+\s+\S/.test(line))?.replace(/^#+\s+/, '')
  const from = heading === undefined ? 0 : lines.findIndex((line) => /^#+\s+\S/.test(line)) + 1
  const body = lines.slice(from)
  const start = body.findIndex((line) => /^[A-Za-z0-9*_`"'([]/.test(line.trim()))
  const paragraph: string[] = []
  for (const line of start < 0 ? [] : body.slice(start)) {
    if (line.trim() === '') break
    paragraph.push(line.trim())
  }
  const beginning = paragraph.join(' ').slice(0, MAX_PARAGRAPH)
  return [`Its README is called “${heading ?? 'README'}”${beginning === '' ? '.' : ` and begins: ${beginning}`}`]
}

function entriesOf({ result }: MadeCall): string[] {
  if (result === undefined || result.failed) return []
  return textOf(result.content)
    .split('\n')
    .map((line) => line.trim().replace(/^[-*•]\s+/, ''))
    .filter((line) => line !== '' && !/^[<(]/.test(line))
}

/** Arguments of a file tool, whose required members determine the name of the path. */
function pathArgument(tool: Tool, path: string): string {
  const properties = Object.keys(membersOf(tool.parameters?.properties))
  const name =
    ['path', 'filePath', 'file_path', 'directory'].find((property) => properties.includes(property)) ?? 'path'
  return JSON.stringify({ [name]: path })
}

/** A call that was made since the last user message, and its result so far. */
export interface MadeCall {
  readonly call: ToolCallPart
  readonly result: ToolResultPart | undefined
}

export function madeCallsOf(messages: readonly Message[]): MadeCall[] {
  const parts = messages.flatMap((message) => message.parts.map(({ part }) => part))
  const results = new Map(
    parts.flatMap((part) => (part.case === 'toolResult' ? [[part.value.callId, part.value]] : [])),
  )
  return parts.flatMap((part) =>
    part.case === 'toolCall' ? [{ call: part.value, result: results.get(part.value.callId) }] : [],
  )
}
