import type { Message } from '#services/inference/domain/conversation.ts'
import type { GenerationRequest } from '#services/inference/domain/generation.ts'
import { textAt } from '../http/json.ts'
import { headersOf } from './extension.ts'
import { models } from './known-models.ts'

/** Betas by which a caller says that its model takes instructions between turns. */
const BETA = /\bmid-conversation-(system|tool-changes)-/

/**
 * The instructions that stay where they stand, so that what comes before them stays cached: the API takes them after what the user says, or
 * what it calls a tool of its own with, and before an answer. Others go before the conversation.
 */
export function stayingInstructions(request: GenerationRequest): ReadonlySet<Message> {
  const staying = new Set<Message>()
  if (!models.isInstructed(request.modelId) && !BETA.test(headersOf(request)['anthropic-beta'] ?? '')) return staying
  let before: Message | undefined
  let waiting: Message[] = []
  const settle = (next: Message | undefined): void => {
    const fits = before !== undefined && mayPrecede(before) && (next === undefined || next.role === 'assistant')
    if (fits) for (const message of waiting) staying.add(message)
    waiting = []
    before = next
  }
  for (const message of request.messages) {
    if (message.role === 'system') waiting.push(message)
    else settle(message)
  }
  settle(undefined)
  return staying
}

function mayPrecede({ role, parts }: Message): boolean {
  if (role !== 'assistant') return true
  const last = parts.at(-1)
  return last?.type === 'foreign' && textAt(last.item.type).endsWith('tool_use')
}
