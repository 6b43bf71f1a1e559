import type { Billed } from '#services/inference/domain/ledger/billed.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt, textAt } from '../http/json.ts'

/** Tools that OpenAI runs for a price that is in no list. */
const OTHERS = new Set(['code_interpreter_call', 'image_generation_call', 'shell_call'])

/** Counts the uses of OpenAI's own tools, which are billed besides tokens. */
export class OwnTools {
  #billed: Billed | undefined

  /** Undefined: nothing. */
  get billed(): Billed | undefined {
    return this.#billed
  }

  /** Counts a finished item. Opening a page of the results is not a search. */
  note(item: JsonObject): void {
    const { webSearches = 0n, fileSearches = 0n } = this.#billed ?? {}
    const type = textAt(item.type)
    const action = textAt(objectAt(item.action)?.type)
    if (OTHERS.has(type)) this.#billed = { ...this.#billed, otherTools: true }
    else if (type === 'file_search_call') this.#billed = { ...this.#billed, fileSearches: fileSearches + 1n }
    else if (type === 'web_search_call' && (action === '' || action === 'search')) {
      this.#billed = { ...this.#billed, webSearches: webSearches + 1n }
    }
  }
}
