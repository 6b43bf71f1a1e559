import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AssistantMessage, Message } from '#gen/portico/session/v1/message_pb.js'
import { tokensOfBytes } from '#shared/text-tokens.ts'
import { CONTEXT_OVERFLOW } from '../generation/step-errors.ts'
import { callsOf, isInput, isSummary } from '../message.ts'
import { coveredBy, shownOf } from './coverage.ts'
import { bytesIn, turnText } from './turn-text.ts'

/** Tokens of a picture or a file, about. */
const MEDIA = 1_500

/**
 * The approximate number of tokens in the next request: the usage of the last step, if it was done by this model, plus
 * an estimate of what came since.
 */
export function tokensOf(conversation: readonly Message[], model: ModelRef): number {
  const visible = shownOf(conversation)
  const last = visible.findLastIndex((message) => isMeasured(message, model))
  const measured = visible[last]?.kind
  if (measured?.case !== 'assistant' || measured.value.tokens === undefined) return estimate(visible)
  const { input, output, cacheRead, cacheWrite } = measured.value.tokens
  return input + output + cacheRead + cacheWrite + resultTokens(measured.value) + estimate(visible.slice(last + 1))
}

/** The model that a conversation is sent to. */
interface Target {
  readonly model: ModelRef
  /** Tokens; undefined: nobody knows. */
  readonly contextLength: number | undefined
}

/** Whether the conversation uses so much of the model's context that it has to be summarized, and can be. */
export function isFull(conversation: readonly Message[], { model, contextLength }: Target, percent: number): boolean {
  if (contextLength === undefined || !isWorthIt(conversation)) return false
  return tokensOf(conversation, model) * 100 > contextLength * percent
}

/** Whether there is anything to summarize, and there is no summary yet or there was an answer since the last one. */
function isWorthIt(conversation: readonly Message[]): boolean {
  const last = conversation.findLastIndex(isSummary)
  return last < 0 ? coveredBy(conversation, true).turns.length > 0 : conversation.slice(last + 1).some(isAnswer)
}

/**
 * Whether another compaction may have a different result: there was none, or the conversation or its model has changed.
 */
export function hasGoneOn(conversation: readonly Message[]): boolean {
  const since = conversation.slice(conversation.findLastIndex(isSummary) + 1)
  return since.length === conversation.length || since.some((message) => goesOn(message))
}

/** Whether the conversation did not fit into its model since it was summarized. */
export function wasTooLong(conversation: readonly Message[]): boolean {
  const since = conversation.slice(conversation.findLastIndex(isSummary) + 1)
  return since.some(({ kind }) => kind.case === 'assistant' && kind.value.error?.type === CONTEXT_OVERFLOW)
}

function goesOn(message: Message): boolean {
  return isAnswer(message) || isInput(message) || message.kind.case === 'modelSwitched'
}

function isAnswer({ kind }: Message): boolean {
  return kind.case === 'assistant' && kind.value.completeTime !== undefined && kind.value.error === undefined
}

function isMeasured({ kind }: Message, { providerId, modelId }: ModelRef): boolean {
  if (kind.case !== 'assistant' || kind.value.tokens === undefined) return false
  const { model } = kind.value
  return model?.providerId === providerId && model.modelId === modelId
}

function estimate(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensIn(message), 0)
}

function tokensIn(message: Message): number {
  const { kind } = message
  if (kind.case === 'compaction') return textTokens(`${kind.value.summary ?? ''}${kind.value.recent ?? ''}`)
  const media = kind.case === 'user' ? kind.value.files.length * MEDIA : 0
  return textTokens(turnText(message)?.text ?? '') + media
}

/** What the tools of a step returned, which its own usage has not counted. */
function resultTokens({ parts }: AssistantMessage): number {
  const contents = callsOf(parts).flatMap(({ content }) => content)
  return contents.reduce(
    (sum, { content }) => sum + (content.case === 'file' ? MEDIA : textTokens(content.value ?? '')),
    0,
  )
}

function textTokens(text: string): number {
  return tokensOfBytes(bytesIn(text))
}
