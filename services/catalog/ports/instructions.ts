import type { Source } from './source.ts'

/** Knows what whoever works in a location is instructed to do, most general first, whichever agent it is. */
export type InstructionSource = Source<readonly string[]>
