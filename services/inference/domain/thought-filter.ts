import type { Part } from './conversation.ts'
import type { MeteredEvent } from './meter.ts'

/** Takes what the model thought out of an answer, with the proofs of it that calls carry: the other parts are numbered as if there had been no thoughts. */
export class ThoughtFilter {
  readonly #numbers = new Map<number, number>()

  /** What is left of a batch; may be nothing. */
  take(batch: readonly MeteredEvent[]): readonly MeteredEvent[] {
    return batch.flatMap((event): MeteredEvent[] => {
      switch (event.type) {
        case 'part-started': {
          if (event.kind === 'reasoning' || event.kind === 'reasoning-summary') return []
          const index = this.#numbers.size
          this.#numbers.set(event.index, index)
          return [{ ...event, index }]
        }
        case 'part-ended': {
          const index = this.#numbers.get(event.index)
          return index === undefined ? [] : [{ ...event, index, part: withoutProof(event.part) }]
        }
        case 'part-extended': {
          const index = this.#numbers.get(event.index)
          return index === undefined ? [] : [{ ...event, index }]
        }
        case 'source': {
          const partIndex = this.#numbers.get(event.source.partIndex)
          return partIndex === undefined ? [] : [{ ...event, source: { ...event.source, partIndex } }]
        }
        default:
          return [event]
      }
    })
  }
}

function withoutProof(part: Part): Part {
  if (part.type !== 'tool-call' || part.signature === undefined) return part
  const { signature: _1, format: _2, ...call } = part
  return call
}
