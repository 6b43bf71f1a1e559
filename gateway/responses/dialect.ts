import type { IncomingHttpHeaders } from 'node:http'
import { Rejection } from '#shared/rejection.ts'

/**
 * Which events a stream of responses has: those of the specification, those of OpenAI's schema, or both, where the events that
 * both know come once, with the members of both (`contract/gateway-facts.md` 1.7).
 */
export type ResponsesDialect = 'both' | 'openai' | 'specification'

const DIALECTS: readonly string[] = ['both', 'openai', 'specification'] satisfies ResponsesDialect[]

/**
 * The dialect that a client wants: what `x-stream-dialect` says; without it `openai` for the OpenAI SDKs, whose stream helper throws at an
 * event that it does not know, else `both`. Rejects with HEADER_INVALID.
 */
export function chooseDialect(headers: IncomingHttpHeaders): ResponsesDialect {
  const wanted = headers['x-stream-dialect']
  if (wanted === undefined) return headers['x-stainless-lang'] === undefined ? 'both' : 'openai'
  if (typeof wanted === 'string' && DIALECTS.includes(wanted)) return wanted as ResponsesDialect
  throw new Rejection('HEADER_INVALID', { field: 'x-stream-dialect', problem: `expected ${DIALECTS.join(', ')}` })
}

/**
 * Whether assistant history in structured form needs `id` and `status`, as the specification says. Clients of OpenAI's dialect and
 * Vercel's AI SDK send it without, and could otherwise hold no conversation (`contract/gateway-facts.md` 1.2.1).
 */
export function wantsHistoryIds(headers: IncomingHttpHeaders, dialect: ResponsesDialect): boolean {
  return dialect !== 'openai' && !/\bai-sdk\//.test(headers['user-agent'] ?? '')
}
