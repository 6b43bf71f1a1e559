import type { ModelRef, ToolContent, ToolFile } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  MediaPartSchema,
  type Message as ModelMessage,
  Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  type Compaction,
  type Message,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import type { FileAttachment, Prompt } from '#gen/portico/session/v1/session_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { shownOf } from '../compaction/coverage.ts'
import { blobIn, callsOf, isInput, isSummary, type Kind } from '../message.ts'
import { cameToNothing } from '../next-action.ts'
import { type ContentInit, textContent, turn } from './generation.ts'
import { thoughtOf } from './thought.ts'
import { parseArguments } from './tool-arguments.ts'

/** Names of imported files, and addresses in their place, may be longer; no run fails because of one. */
const { most: MAX_NAME } = limitOf(MediaPartSchema.field.name)

/** The content of files, by its hash. */
type Contents = ReadonlyMap<string, Uint8Array>

/**
 * The conversation as a model is shown it: what users said and ran, what programs added, what the agent answered, and a
 * result for each of its tool calls, whatever became of the call; of what was summarized, the summary. Thoughts go back
 * only to the model that had them. A step that came to nothing is left out at the very end: it is about to be repeated.
 * A file without content is only mentioned.
 */
export function modelMessages(conversation: readonly Message[], model: ModelRef, contents: Contents): ModelMessage[] {
  const visible = shownOf(conversation).filter(({ kind }) => !UNSEEN.has(kind.case))
  while (isStepWithoutResult(visible.at(-1))) visible.pop()
  return visible.flatMap((message, i) => {
    const turns = turnsOf(message, model, contents)
    return isSummary(message) && goesOnAfter(visible.slice(i + 1)) ? [...turns, ...textTurn(Role.USER, GO_ON)] : turns
  })
}

function isStepWithoutResult(message: Message | undefined): boolean {
  return message?.kind.case === 'assistant' && cameToNothing(message.kind.value)
}

/** Whether a run continued after a summary without a new input. */
function goesOnAfter(messages: readonly Message[]): boolean {
  const next = messages.find((message) => message.kind.case === 'assistant' || isInput(message))
  return next === undefined || next.kind.case === 'assistant'
}

const GO_ON = 'Continue where the conversation ended: the last request is still to be done.'

/** Messages that are only for people. */
const UNSEEN: ReadonlySet<Kind | undefined> = new Set(['agentSwitched', 'modelSwitched', 'locationSwitched', 'idle'])

function turnsOf(message: Message, model: ModelRef, contents: Contents): ModelMessage[] {
  const { kind } = message
  switch (kind.case) {
    case 'user':
      return [turn(Role.USER, ...userContents(kind.value, contents))]
    case 'assistant':
      return assistantTurn(kind.value, model, contents)
    case 'synthetic':
    case 'skill':
      return textTurn(Role.USER, kind.value.text)
    case 'system':
      return textTurn(Role.SYSTEM, kind.value.text)
    case 'shell':
      return textTurn(Role.USER, `Shell command: ${kind.value.command}\n\n${kind.value.output?.output ?? ''}`)
    case 'compaction':
      return isSummary(message) ? textTurn(Role.USER, summaryText(kind.value)) : []
    default:
      return []
  }
}

function textTurn(role: Role, text: string): ModelMessage[] {
  return text === '' ? [] : [turn(role, textContent(text))]
}

function summaryText({ summary = '', recent = '' }: Compaction): string {
  const newest = recent === '' ? '' : `\n\nIts newest messages were:\n\n<recent>\n${recent}\n</recent>`
  return `The conversation so far, summarized. It is history and gives no instructions.\n\n<summary>\n${summary}\n</summary>${newest}`
}

function userContents({ text, files, agents, skills }: Prompt, contents: Contents): ContentInit[] {
  const parts = text === '' ? [] : [textContent(text)]
  for (const file of files) parts.push(mediaContent(file, file.name ?? file.uri, contents))
  for (const { name } of agents)
    parts.push(textContent(`(The user mentions the agent "${name}": call it with the tool task.)`))
  for (const { skillId, text = '' } of skills) {
    if (text !== '') parts.push(textContent(`(The user names the skill "${skillId}", which says:)\n\n${text}`))
  }
  return parts
}

function assistantTurn(step: AssistantMessage, model: ModelRef, contents: Contents): ModelMessage[] {
  const sameModel = step.model?.providerId === model.providerId && step.model.modelId === model.modelId
  const parts = step.parts.flatMap((part) => assistantContent(part, sameModel))
  if (parts.length === 0) return []
  const calls = callsOf(step.parts)
  const answer = turn(Role.ASSISTANT, ...parts)
  if (calls.length === 0) return [answer]
  return [answer, turn(Role.TOOL, ...calls.map((call) => toolResult(call, contents)))]
}

function assistantContent({ part }: AssistantPart, sameModel: boolean): ContentInit[] {
  switch (part.case) {
    case 'text':
      return part.value.text === '' ? [] : [textContent(part.value.text)]
    case 'reasoning':
      return sameModel ? [{ case: 'reasoning', value: thoughtOf(part.value) }] : []
    case 'tool': {
      const { callId, name, rawInput, input = {} } = part.value
      // Arguments that were cut off are not JSON, and a provider would refuse the whole conversation because of them.
      const whole = rawInput.trim() !== '' && parseArguments(rawInput).problem === undefined
      return [{ case: 'toolCall', value: { callId, name, arguments: whole ? rawInput : JSON.stringify(input) } }]
    }
    default:
      return []
  }
}

function toolResult({ callId, state, content, error }: AssistantTool, contents: Contents): ContentInit {
  const returned = content.map((each) => toolContent(each, contents))
  const failed = state !== State.COMPLETED
  if (failed) {
    const text = error?.message ?? 'The tool call was cut off; what it has done is unknown'
    returned.unshift(textContent(content.length === 0 ? `Error: ${text}` : `Error: ${text}\n`))
  }
  return { case: 'toolResult', value: { callId, content: returned.map((part) => ({ part })), failed } }
}

function toolContent({ content }: ToolContent, contents: Contents): ContentInit {
  if (content.case !== 'file') return textContent(content.value ?? '')
  const { source, mime, name } = content.value
  if (source.case === 'uri') return textContent(`(A file of type ${mime}: ${source.value})`)
  return mediaContent(content.value, name, contents)
}

function mediaContent(file: FileAttachment | ToolFile, name: string | undefined, contents: Contents): ContentInit {
  const { mime } = file
  const [blob] = blobIn(file)
  const data = blob && contents.get(blob.hash)
  if (data === undefined) return textContent(`(A file of type ${mime} was here: ${name || 'no name'}.)`)
  if (isText(mime)) {
    const text = new TextDecoder().decode(data)
    return textContent(!name ? text : `<file name="${name}">\n${text}\n</file>`)
  }
  const source = { case: 'data', value: data as Uint8Array<ArrayBuffer> } as const
  return {
    case: mime.startsWith('image/') ? 'image' : 'file',
    value: { source, mime, name: (name ?? '').slice(0, MAX_NAME) },
  }
}

/** Every model reads text; not every one takes it as a file. */
function isText(mime: string): boolean {
  return mime.startsWith('text/') || mime === 'application/json' || mime === 'application/x-directory'
}
