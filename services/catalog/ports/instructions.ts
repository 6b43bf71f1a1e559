import type { Source } from './source.ts'

/** Knows the instructions for all agents in a location, most general first. */
export type InstructionSource = Source<readonly string[]>
