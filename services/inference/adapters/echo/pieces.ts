import type { LogProbability, Source } from '#services/inference/domain/generation.ts'
import type { GrowingKind } from '#services/inference/domain/open-part.ts'
import type { Sampling } from '#services/inference/domain/sampling.ts'
import type { Called } from '#services/inference/domain/tools.ts'
import type { EchoTurn } from './turn.ts'
import { tale, wordsOf } from './words.ts'

/** The kind of provider that portico/echo is. */
export const FORMAT = 'portico-echo-v1'

/** A picture of one pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A part of a turn, in words. */
export interface Piece {
  readonly kind: GrowingKind
  readonly called?: Called
  readonly words: Iterable<string>
}

/** What a turn consists of, in order. */
export function piecesOf(requestId: string, { script, calls, answer }: EchoTurn): Piece[] {
  const pieces: Piece[] = []
  if (script.reasoning !== '') pieces.push({ kind: 'reasoning', words: wordsOf(script.reasoning) })
  for (const [i, { tool, arguments: text }] of calls.entries()) {
    const { name: toolName, custom, namespace } = tool
    const called = { callId: `call_${digest(requestId)}_${i + 1}`, toolName, custom: custom !== undefined }
    pieces.push({ kind: 'tool-call', called: { ...called, namespace: namespace?.name }, words: wordsOf(text) })
  }
  if (answer !== '') pieces.push({ kind: script.refusal === '' ? 'text' : 'refusal', words: wordsOf(answer) })
  return pieces
}

/** Log probability of a word with the requested number of alternatives, always the same. Undefined: not requested. */
export function probabilityOf(word: string, sampling: Sampling | undefined): LogProbability[] | undefined {
  const count = sampling?.topLogProbabilities
  if (count === undefined) return undefined
  const others = [word, ...tale(count).split(' ')].slice(0, count)
  const alternatives = others.map((token, i) => ({ ...tokenOf(token, i), alternatives: [] }))
  return [{ ...tokenOf(word, 0), alternatives }]
}

function tokenOf(token: string, rank: number) {
  return { token, logProbability: -0.25 * (rank + 1), bytes: Buffer.from(token) }
}

/** A source of the whole answer. */
export function sourceOf(url: string, title: string): Omit<Source, 'partIndex'> {
  return { url, title: title || undefined, start: undefined, end: undefined, citedText: undefined }
}

/** FNV-1a: call ids follow from the request id, and differ between requests. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  return hash.toString(16).padStart(16, '0')
}
