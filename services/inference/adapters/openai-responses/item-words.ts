import type { JsonObject } from '#shared/json.ts'
import { listAt, objectAt, textAt } from '../http/json.ts'

/** The phases of a model's words. */
const PHASES: ReadonlySet<unknown> = new Set(['commentary', 'final_answer'])

/** The phase of a message; undefined: the model gives none, or it is not a message. */
export function phaseOf({ type, phase }: JsonObject): string | undefined {
  return type === 'message' && PHASES.has(phase) ? textAt(phase) : undefined
}

/** The texts in a list of parts, one paragraph each. */
export function textsOf(parts: unknown): string {
  return listAt(parts)
    .map((part) => textAt(objectAt(part)?.text))
    .filter((text) => text !== '')
    .join('\n\n')
}
