import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import { type Called, type GrowingKind, PartWriter } from '#services/inference/domain/parts.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { rejectionForStatus } from '../http/provider-errors.ts'
import { decideTurn } from './turn.ts'
import { countTokens, wordsOf } from './words.ts'

const MAX_BATCH_WORDS = 1_000

interface Piece {
  readonly kind: GrowingKind
  readonly called?: Called
  readonly words: Iterable<string>
}

/**
 * `portico/echo`: the built-in model. It needs no network, is deterministic, and obeys lines of the last user message
 * (`script.ts`). It streams word by word, all words of a turn in one batch unless the script says `/slow`. A token
 * is a word: a run of characters without white space; a tool call takes one for its name besides.
 */
export class EchoProvider implements ModelProvider {
  readonly #providerId: string

  constructor(providerId: string) {
    this.#providerId = providerId
  }

  async generate(request: GenerationRequest, signal: AbortSignal): Promise<readonly GenerationEvent[]> {
    const events: GenerationEvent[] = []
    for await (const batch of this.stream(request, signal)) for (const event of batch) events.push(event)
    return events
  }

  async *stream(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<readonly GenerationEvent[]> {
    signal.throwIfAborted()
    const { script, calls, answer } = decideTurn(request)
    const { failure, slowMs } = script
    const failAt = failure === undefined ? Infinity : failure.afterWords
    if (failure !== undefined && failAt === 0) throw this.#fail(failure.status)
    const inputTokens = BigInt(countTokens(request.messages))
    const writer = new PartWriter()
    let tokens = 0
    let reasoningTokens = 0
    let batched = 0
    const take = (): readonly GenerationEvent[] => {
      batched = 0
      const outputTokens = BigInt(tokens)
      const usage = { inputTokens, outputTokens, reasoningTokens: BigInt(reasoningTokens) }
      writer.push({ type: 'usage', usage: { ...usage, cacheReadTokens: 0n, cacheWriteTokens: 0n } })
      return writer.take()
    }
    const limit = Math.min(request.maxOutputTokens ?? Infinity, failAt)
    let cut = false
    writer.push({ type: 'started', warnings: [] })
    for (const { kind, called, words } of piecesOf(request.requestId, script.reasoning, calls, answer)) {
      if (tokens >= limit) cut = true
      if (cut) break
      const part = writer.start(kind, called)
      if (kind === 'tool-call') tokens++
      for (const word of words) {
        if (tokens >= limit) {
          cut = true
          break
        }
        if (slowMs > 0) await delay(slowMs, undefined, { signal }).catch(() => signal.throwIfAborted())
        writer.extend(part, word)
        tokens++
        if (kind === 'reasoning') reasoningTokens++
        if (slowMs > 0) yield take()
        else if (++batched === MAX_BATCH_WORDS) {
          yield take()
          // Nothing here waits for I/O: a long answer would be all that happens.
          await setImmediate()
        }
      }
      if (!(cut && tokens >= failAt)) writer.end(part)
    }
    if (failure !== undefined) {
      yield take()
      throw this.#fail(failure.status)
    }
    const reason = cut ? 'length' : calls.length > 0 ? 'tool-calls' : 'stop'
    const last = take()
    writer.finish(reason, reason)
    yield [...last, ...writer.take()]
  }

  #fail(status: number): Error {
    return rejectionForStatus(this.#providerId, status, `The prompt asked for status ${status}`)
  }
}

function piecesOf(
  requestId: string,
  reasoning: string,
  calls: readonly { readonly name: string; readonly arguments: string }[],
  answer: string,
): Piece[] {
  const pieces: Piece[] = []
  if (reasoning !== '') pieces.push({ kind: 'reasoning', words: wordsOf(reasoning) })
  for (const [i, call] of calls.entries()) {
    const callId = `call_${digest(requestId)}_${i + 1}`
    pieces.push({ kind: 'tool-call', called: { callId, toolName: call.name }, words: wordsOf(call.arguments) })
  }
  if (answer !== '') pieces.push({ kind: 'text', words: wordsOf(answer) })
  return pieces
}

/** FNV-1a: call ids follow from the request id, and differ between requests. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  return hash.toString(16).padStart(16, '0')
}
