import { type Message, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { textAt } from '../http/json.ts'
import { headersOf } from './extension.ts'
import { models } from './known-models.ts'

/** Betas by which a caller declares that its model accepts instructions between turns. */
const BETA = /\bmid-conversation-(system|tool-changes)-/

/**
 * The instructions that remain in place, so that what precedes them stays cached: the API accepts them after a message
 * of the user, or after a call of one of its own tools, and before an answer. Others move before the conversation.
 */
export function stayingInstructions(request: ProviderRequest): ReadonlySet<Message> {
  const staying = new Set<Message>()
  if (!models.isInstructed(request.modelId) && !BETA.test(headersOf(request)['anthropic-beta'] ?? '')) return staying
  let before: Message | undefined
  let waiting: Message[] = []
  const settle = (next: Message | undefined): void => {
    const fits = before !== undefined && mayPrecede(before) && (next === undefined || next.role === Role.ASSISTANT)
    if (fits) for (const message of waiting) staying.add(message)
    waiting = []
    before = next
  }
  for (const message of request.messages) {
    if (message.role === Role.SYSTEM) waiting.push(message)
    else settle(message)
  }
  settle(undefined)
  return staying
}

function mayPrecede({ role, parts }: Message): boolean {
  if (role !== Role.ASSISTANT) return true
  const last = parts.at(-1)?.part
  return last?.case === 'foreign' && textAt(last.value.item?.type).endsWith('tool_use')
}
