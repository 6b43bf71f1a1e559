import type { OpenPart } from '#services/inference/domain/parts.ts'

/** A place within an item: a content part by its number, the call, the summary, or the raw text of a thought. */
export type Place = number | 'call' | 'summary' | 'thought'

/** An item in progress: its parts, and how many annotations each of them has. */
export class LiveItem {
  /** Its number in the response; undefined: the server gives none. */
  index: unknown
  id: string | undefined
  /** Empty: not known yet. Some servers put a thought and a message into one item. */
  readonly types = new Set<string>()
  /** Whether it has ended; anything that follows is a repetition. */
  isDone = false
  /** Those of its types that were found in the final response. */
  readonly finals = new Set<string>()
  /** Phase of a message; undefined: the model gives none. */
  phase: string | undefined
  readonly parts = new Map<Place, OpenPart>()
  readonly annotations = new Map<Place, number>()
  /** How many characters of a text nobody got, since they came after the end of the answer. */
  readonly withheld = new Map<Place, number>()
}
