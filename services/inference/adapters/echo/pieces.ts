import { create } from '@bufbuild/protobuf'
import { type LogProbability, LogProbabilitySchema, type Sampling } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { CallInit, GrowingKind } from '#services/inference/domain/open-part.ts'
import type { EchoTurn } from './turn.ts'
import { tale, wordsOf } from './words.ts'

/** A part of a turn, in words. */
export interface Piece {
  readonly kind: GrowingKind
  readonly call?: CallInit
  readonly words: Iterable<string>
}

/** What a turn consists of, in order. */
export function piecesOf(requestId: string, { script, calls, answer }: EchoTurn): Piece[] {
  const pieces: Piece[] = []
  if (script.reasoning !== '') pieces.push({ kind: Kind.REASONING, words: wordsOf(script.reasoning) })
  for (const [i, { tool, arguments: text }] of calls.entries()) {
    const { name, custom, namespace } = tool
    const callId = `call_${digest(requestId)}_${i + 1}`
    const call = { callId, name, custom: custom !== undefined, namespace: namespace?.name }
    pieces.push({ kind: Kind.TOOL_CALL, call, words: wordsOf(text) })
  }
  if (answer !== '') pieces.push({ kind: Kind.TEXT, words: wordsOf(answer) })
  return pieces
}

/** Log probability of a word with the requested number of alternatives, always the same. Undefined: not requested. */
export function probabilityOf(word: string, sampling: Sampling | undefined): LogProbability[] | undefined {
  const count = sampling?.topLogProbabilities
  if (count === undefined) return undefined
  const others = [word, ...tale(count).split(' ')].slice(0, count)
  return [
    tokenOf(
      word,
      0,
      others.map((token, i) => tokenOf(token, i)),
    ),
  ]
}

function tokenOf(token: string, rank: number, alternatives: LogProbability[] = []): LogProbability {
  const logProbability = -0.25 * (rank + 1)
  return create(LogProbabilitySchema, { token, logProbability, tokenBytes: Buffer.from(token), alternatives })
}

/** FNV-1a: call ids follow from the request id, and differ between requests. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  return hash.toString(16).padStart(16, '0')
}
