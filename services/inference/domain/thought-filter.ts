import { type GenerationEvent, PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'

/**
 * Removes thoughts from an answer, and renumbers the other parts. Calls keep their proofs, without which some providers
 * refuse the next turn.
 */
export class ThoughtFilter {
  readonly #numbers = new Map<number, number>()

  /** The rest of a batch, which may be empty. */
  take(batch: readonly GenerationEvent[]): readonly GenerationEvent[] {
    return batch.flatMap((whole) => {
      const event = this.#renumbered(whole.event)
      return event === undefined ? [] : [{ ...whole, event }]
    })
  }

  /** Undefined: it is about a thought. */
  #renumbered(event: GenerationEvent['event']): GenerationEvent['event'] | undefined {
    switch (event.case) {
      case 'partStarted': {
        const { kind } = event.value
        if (kind === Kind.REASONING || kind === Kind.REASONING_SUMMARY) return undefined
        const index = this.#numbers.size
        this.#numbers.set(event.value.index, index)
        return { case: event.case, value: { ...event.value, index } }
      }
      case 'partEnded': {
        const index = this.#numbers.get(event.value.index)
        return index === undefined ? undefined : { case: event.case, value: { ...event.value, index } }
      }
      case 'partExtended': {
        const index = this.#numbers.get(event.value.index)
        return index === undefined ? undefined : { case: event.case, value: { ...event.value, index } }
      }
      case 'source': {
        const partIndex = this.#numbers.get(event.value.partIndex)
        return partIndex === undefined ? undefined : { case: event.case, value: { ...event.value, partIndex } }
      }
      default:
        return event
    }
  }
}
