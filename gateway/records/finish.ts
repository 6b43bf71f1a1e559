import { z } from 'zod'

/** Why a provider ended its answer. */
export const finish = z.enum(['stop', 'length', 'tool-calls', 'content-filter', 'error', 'unknown'])

type Finish = z.output<typeof finish>

/** A word that is not one of the contract's is `unknown`; undefined while the provider has not ended. */
export function fromFinish(word: string): Finish
export function fromFinish(word: string | undefined): Finish | undefined
export function fromFinish(word: string | undefined): Finish | undefined {
  if (word === undefined) return undefined
  return finish.options.find((option) => option === word) ?? 'unknown'
}
