import {
  type AssistantMessage,
  type AssistantTool,
  type Message,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import type { Prompt } from '#gen/portico/session/v1/session_pb.js'

/** A turn of a conversation as text; a call is in it together with its result. */
export interface TurnText {
  /** Word for word. */
  readonly text: string
  /** With no more than the beginnings of what tools returned. */
  readonly short: string
}

/** Characters of what a tool returned that stay in a short text. */
const SHORT = 200

/** The text of a message, without thoughts; undefined: it has none that a model is shown. */
export function turnText({ kind }: Message): TurnText | undefined {
  switch (kind.case) {
    case 'user':
      return same('user', promptText(kind.value))
    case 'synthetic':
      return same('user', kind.value.text)
    case 'system':
      return same('instructions', kind.value.text)
    case 'skill':
      return same('skill', kind.value.text)
    case 'shell':
      return same('user', `Shell command: ${kind.value.command}\n${kind.value.output?.output ?? ''}`)
    case 'assistant':
      return assistantText(kind.value)
    default:
      return undefined
  }
}

function same(who: string, words: string): TurnText | undefined {
  if (words.trim() === '') return undefined
  const text = `${who}: ${words}`
  return { text, short: text }
}

function promptText({ text, files, skills }: Prompt): string {
  const named = files.map(({ name, uri, mime }) => `(file ${name ?? uri ?? ''} of type ${mime})`)
  return [text, ...named, ...skills.map((skill) => skill.text ?? '')].filter((each) => each !== '').join('\n')
}

function assistantText({ parts }: AssistantMessage): TurnText | undefined {
  const [whole, short]: [string[], string[]] = [[], []]
  for (const { part } of parts) {
    if (part.case === 'text' && part.value.text.trim() !== '') {
      whole.push(part.value.text)
      short.push(part.value.text)
    }
    if (part.case === 'tool') {
      const { name, rawInput, input = {} } = part.value
      const returned = returnedBy(part.value)
      const called = `(calls ${name} with ${rawInput || JSON.stringify(input)}`
      whole.push(`${called}; ${returned})`)
      short.push(`${called.slice(0, 2 * SHORT)}; ${beginningOf(returned, SHORT)})`)
    }
  }
  if (whole.length === 0) return undefined
  return { text: `assistant: ${whole.join('\n')}`, short: `assistant: ${short.join('\n')}` }
}

function returnedBy({ state, content, error }: AssistantTool): string {
  const texts = content.map(({ content: each }) =>
    each.case === 'file' ? `(file of type ${each.value.mime})` : (each.value ?? ''),
  )
  const failed = state === State.COMPLETED ? [] : [`error: ${error?.message ?? 'it was cut off'}`]
  return `result: ${[...failed, ...texts].join('\n')}`
}

/** How many bytes a text has in UTF-8, by which its tokens are estimated. */
export const bytesIn = Buffer.byteLength

/** The beginning of a text that has more than so many bytes, with a mark. */
export function beginningOf(text: string, most: number): string {
  if (bytesIn(text) <= most) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, most - bytesIn(CUT))))
  return `${text.slice(0, read)}${CUT}`
}

const CUT = ' […]'
