import type { JsonObject } from '#shared/json.ts'
import { listAt, objectAt, textAt } from '../http/json.ts'

/** What a model says words for. */
const PHASES: ReadonlySet<unknown> = new Set(['commentary', 'final_answer'])

/** What the words of a message are said for; undefined: the model does not say, or it is not a message. */
export function phaseOf({ type, phase }: JsonObject): string | undefined {
  return type === 'message' && PHASES.has(phase) ? textAt(phase) : undefined
}

/** The texts of a list of parts, a paragraph each. */
export function textsOf(parts: unknown): string {
  return listAt(parts)
    .map((part) => textAt(objectAt(part)?.text))
    .filter((text) => text !== '')
    .join('\n\n')
}
