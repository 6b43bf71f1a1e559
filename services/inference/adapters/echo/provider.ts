import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { FinishReason, UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import { PartWriter } from '#services/inference/domain/parts.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { rejectionForStatus } from '../http/provider-errors.ts'
import { piecesOf, probabilityOf } from './pieces.ts'
import { decideTurn } from './turn.ts'
import { countTokens } from './words.ts'

const MAX_BATCH_WORDS = 1_000

/**
 * `portico/echo`: the built-in model. It needs no network, is deterministic, and obeys lines of the last user message
 * (`script.ts`). It streams word by word; all words of a turn form one batch unless the script contains `/slow`. A
 * token is a word: a sequence of up to 300 characters without white space. The name of a tool call counts as another
 * one.
 */
export class EchoProvider implements ModelProvider {
  readonly #providerId: string

  constructor(providerId: string) {
    this.#providerId = providerId
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.stream(request, signal)
  }

  async *stream(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<readonly ProviderEvent[]> {
    signal.throwIfAborted()
    const turn = decideTurn(request)
    const { script, calls } = turn
    const { failure, slowMs } = script
    const failAt = failure === undefined ? Infinity : failure.afterWords
    if (failure !== undefined && failAt === 0) throw this.#fail(failure.status)
    const inputTokens = BigInt(countTokens(request.messages))
    const writer = new PartWriter()
    let tokens = 0
    let reasoningTokens = 0
    let batched = 0
    const take = (): readonly ProviderEvent[] => {
      batched = 0
      const outputTokens = BigInt(tokens)
      const usage = { inputTokens, outputTokens, reasoningTokens: BigInt(reasoningTokens) }
      writer.report({ usage: create(UsageSchema, usage) })
      return writer.take()
    }
    const limit = Math.min(request.maxOutputTokens ?? Infinity, failAt)
    let cut = false
    writer.begin()
    for (const { kind, call, words } of piecesOf(request.requestId, turn)) {
      if (tokens >= limit) cut = true
      if (cut) break
      const part = writer.start(kind, call)
      if (kind === Kind.TOOL_CALL) tokens++
      for (const word of words) {
        if (tokens >= limit) {
          cut = true
          break
        }
        if (slowMs > 0) await delay(slowMs, undefined, { signal }).catch(() => signal.throwIfAborted())
        writer.extend(part, word, kind === Kind.TEXT ? probabilityOf(word, request.sampling) : undefined)
        tokens++
        if (kind === Kind.REASONING) reasoningTokens++
        if (slowMs > 0) yield take()
        else if (++batched === MAX_BATCH_WORDS) {
          yield take()
          // Nothing here waits for I/O, so a long answer would block everything else.
          await setImmediate()
        }
      }
      if (!(cut && tokens >= failAt)) writer.end(part)
    }
    if (failure !== undefined) {
      yield take()
      throw this.#fail(failure.status)
    }
    const [reason, word] = cut
      ? ([FinishReason.LENGTH, 'length'] as const)
      : calls.length > 0
        ? ([FinishReason.TOOL_CALLS, 'tool-calls'] as const)
        : ([FinishReason.STOP, 'stop'] as const)
    const last = take()
    const stopText = cut ? undefined : turn.stopText
    writer.finish(reason, word, { stopText, serviceTier: request.serviceTier || undefined })
    yield [...last, ...writer.take()]
  }

  #fail(status: number): Error {
    return rejectionForStatus(this.#providerId, status, `The prompt requested status ${status}`)
  }
}
