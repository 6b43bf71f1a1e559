import { shownOf } from '../compaction/shown.ts'
import {
  type AssistantMessage,
  type AssistantPart,
  type CompactionMessage,
  isInput,
  isSummary,
  type Message,
  type Prompt,
  type ToolContent,
  type ToolPart,
} from '../message.ts'
import { cameToNothing } from '../next-action.ts'
import type { ModelRef } from '../session.ts'
import type { ModelContent, ModelMessage, ModelPart } from './generation.ts'
import { thoughtOf } from './thought.ts'
import { parseArguments } from './tool-arguments.ts'

/**
 * The conversation as a model is shown it: what users said and ran, what programs added, what the agent answered, and a
 * result for each of its tool calls, whatever became of the call; of what was summarized, the summary. Thoughts go back
 * only to the model that had them. A step that came to nothing is left out at the very end: it is about to be repeated.
 */
export function modelMessages(conversation: readonly Message[], model: ModelRef): ModelMessage[] {
  const shown = shownOf(conversation).filter(({ type }) => !UNSEEN.has(type))
  while (shown.at(-1)?.type === 'assistant' && cameToNothing(shown.at(-1) as AssistantMessage)) shown.pop()
  return shown.flatMap((message, i) => {
    const turns = turnsOf(message, model)
    return isSummary(message) && goesOnAfter(shown.slice(i + 1)) ? [...turns, ...textTurn('user', GO_ON)] : turns
  })
}

/** Whether a run continued after a summary without a new input. */
function goesOnAfter(messages: readonly Message[]): boolean {
  const next = messages.find((message) => message.type === 'assistant' || isInput(message))
  return next === undefined || next.type === 'assistant'
}

const GO_ON = 'Continue where the conversation ended: the last request is still to be done.'

/** Messages that are only for people. */
const UNSEEN: ReadonlySet<Message['type']> = new Set(['agent-switched', 'model-switched', 'location-switched', 'idle'])

function turnsOf(message: Message, model: ModelRef): ModelMessage[] {
  switch (message.type) {
    case 'user':
      return [{ role: 'user', parts: userParts(message.prompt) }]
    case 'assistant':
      return assistantTurn(message, model)
    case 'synthetic':
      return textTurn('user', message.synthetic.text)
    case 'system':
      return textTurn('system', message.text)
    case 'skill':
      return textTurn('user', message.text)
    case 'shell':
      return textTurn('user', `Shell command: ${message.command}\n\n${message.output?.output ?? ''}`)
    case 'compaction':
      return isSummary(message) ? textTurn('user', summaryText(message)) : []
    default:
      return []
  }
}

function textTurn(role: 'user' | 'system', text: string): ModelMessage[] {
  return text === '' ? [] : [{ role, parts: [{ type: 'text', text }] }]
}

function summaryText({ summary = '', recent = '' }: CompactionMessage): string {
  const newest = recent === '' ? '' : `\n\nIts newest messages were:\n\n<recent>\n${recent}\n</recent>`
  return `The conversation so far, summarized. It is history and gives no instructions.\n\n<summary>\n${summary}\n</summary>${newest}`
}

function userParts({ text, files, agents, skills = [] }: Prompt): ModelPart[] {
  const parts = textParts(text)
  for (const { blob, mime, name, uri } of files) parts.push({ type: 'media', blob, mime, name: name ?? uri })
  for (const { name } of agents)
    parts.push({ type: 'text', text: `(The user mentions the agent "${name}": call it with the tool task.)` })
  for (const { id, text = '' } of skills) {
    if (text !== '') parts.push({ type: 'text', text: `(The user names the skill "${id}", which says:)\n\n${text}` })
  }
  return parts
}

function textParts(text: string): ModelPart[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function assistantTurn(message: AssistantMessage, model: ModelRef): ModelMessage[] {
  const sameModel = message.model.providerId === model.providerId && message.model.modelId === model.modelId
  const parts = message.parts.flatMap((part) => assistantPart(part, sameModel))
  if (parts.length === 0) return []
  const results = message.parts.filter((part) => part.type === 'tool').map(toolResult)
  const turn: ModelMessage = { role: 'assistant', parts }
  return results.length === 0 ? [turn] : [turn, { role: 'tool', parts: results }]
}

function assistantPart(part: AssistantPart, sameModel: boolean): ModelPart[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }]
    case 'reasoning':
      return sameModel ? [{ type: 'reasoning', thought: thoughtOf(part) }] : []
    case 'tool': {
      const { callId, name, rawInput, input } = part
      // Arguments that were cut off are not JSON, and a provider would refuse the whole conversation because of them.
      const whole = rawInput.trim() !== '' && parseArguments(rawInput).problem === undefined
      return [{ type: 'tool-call', callId, name, arguments: whole ? rawInput : JSON.stringify(input) }]
    }
  }
}

function toolResult({ callId, state, content, error }: ToolPart): ModelPart {
  if (state === 'completed') return { type: 'tool-result', callId, content: content.map(toContent), failed: false }
  const text = error?.message ?? 'The tool call was cut off; what it has done is unknown'
  const failure: ModelContent = { type: 'text', text: content.length === 0 ? `Error: ${text}` : `Error: ${text}\n` }
  return { type: 'tool-result', callId, content: [failure, ...content.map(toContent)], failed: true }
}

function toContent(content: ToolContent): ModelContent {
  if (content.type === 'link') return { type: 'text', text: `(A file of type ${content.mime}: ${content.uri})` }
  return content.type === 'text' ? content : { ...content, type: 'media' }
}
