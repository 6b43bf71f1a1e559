import {
  type AssistantMessage,
  type AssistantPart,
  isInput,
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
 * The conversation as a model is shown it: what users said and programs added, what the agent answered, and a result for each
 * of its tool calls, whatever became of the call. Thoughts go back only to the model that had them. A step that came to
 * nothing is left out at the very end: it is about to be repeated.
 */
export function modelMessages(conversation: readonly Message[], model: ModelRef): ModelMessage[] {
  const shown = conversation.filter((message) => isInput(message) || message.type === 'assistant')
  while (shown.at(-1)?.type === 'assistant' && cameToNothing(shown.at(-1) as AssistantMessage)) shown.pop()
  return shown.flatMap((message) => {
    if (message.type === 'user') return [{ role: 'user', parts: userParts(message.prompt) }]
    if (message.type === 'synthetic') return [{ role: 'user', parts: textParts(message.synthetic.text) }]
    return message.type === 'assistant' ? assistantTurn(message, model) : []
  })
}

function userParts({ text, files, agents }: Prompt): ModelPart[] {
  const parts = textParts(text)
  for (const { blob, mime, name, uri } of files) parts.push({ type: 'media', blob, mime, name: name ?? uri })
  for (const { name } of agents) parts.push({ type: 'text', text: `(The user names the agent "${name}".)` })
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
      // Arguments that were cut off are no JSON; a provider would refuse the whole conversation because of them.
      const whole = rawInput.trim() !== '' && parseArguments(rawInput).problem === undefined
      return [{ type: 'tool-call', callId, name, arguments: whole ? rawInput : JSON.stringify(input) }]
    }
  }
}

function toolResult({ callId, state, content, error }: ToolPart): ModelPart {
  if (state === 'completed') return { type: 'tool-result', callId, content: content.map(toContent), failed: false }
  const text = error?.message ?? 'The tool call was cut off; what it has done is unknown'
  const failure: ModelContent = { type: 'text', text: `Error: ${text}` }
  return { type: 'tool-result', callId, content: [failure, ...content.map(toContent)], failed: true }
}

function toContent(content: ToolContent): ModelContent {
  if (content.type === 'link') return { type: 'text', text: `(A file of type ${content.mime}: ${content.uri})` }
  return content.type === 'text' ? content : { ...content, type: 'media' }
}
