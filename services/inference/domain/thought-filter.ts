import type { MeteredEvent } from './meter.ts'

/**
 * Removes thoughts from an answer, and renumbers the other parts. Calls keep their proofs, without which some providers
 * refuse the next turn.
 */
export class ThoughtFilter {
  readonly #numbers = new Map<number, number>()

  /** The rest of a batch, which may be empty. */
  take(batch: readonly MeteredEvent[]): readonly MeteredEvent[] {
    return batch.flatMap((event): MeteredEvent[] => {
      switch (event.type) {
        case 'part-started': {
          if (event.kind === 'reasoning' || event.kind === 'reasoning-summary') return []
          const index = this.#numbers.size
          this.#numbers.set(event.index, index)
          return [{ ...event, index }]
        }
        case 'part-ended':
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
