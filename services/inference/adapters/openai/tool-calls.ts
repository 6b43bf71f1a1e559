import type { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import { randomId } from '#shared/ids.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt, textAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { readProof } from './call-proofs.ts'

const MAX_CALLS = 512

interface Call {
  readonly index: unknown
  readonly id: string
  name: string
  held: string
  /** The provider's proof of the call; empty: none has come. */
  proof: ReturnType<typeof readProof>
  part: OpenPart | undefined
}

/**
 * Assembles tool calls from their deltas. Servers differ: some omit the index or the id, some give every call the index
 * 0, some repeat the name.
 */
export class OpenaiToolCalls {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #flat: FlatTools
  readonly #calls: Call[] = []

  constructor(providerId: string, writer: PartWriter, flat: FlatTools) {
    this.#providerId = providerId
    this.#writer = writer
    this.#flat = flat
  }

  get count(): number {
    return this.#calls.length
  }

  push(delta: JsonObject): void {
    const id = textAt(delta.id)
    const custom = objectAt(delta.custom)
    const called = custom ?? objectAt(delta.function)
    const name = textAt(called?.name)
    const text = textAt(called?.arguments) || textAt(custom?.input)
    const call = this.#find(delta.index, id) ?? this.#add(delta.index, id)
    call.proof = { ...call.proof, ...readProof(delta.extra_content) }
    if (call.part === undefined) {
      if (call.name === '') call.name = name
      call.held += text
      if (call.name === '') return
      const tool = { callId: call.id, ...this.#flat.called(call.name), custom: custom !== undefined, ...call.proof }
      call.part = this.#writer.start('tool-call', tool)
      if (call.held !== '') this.#writer.extend(call.part, call.held)
      call.held = ''
    } else if (text !== '') this.#writer.extend(call.part, text)
    Object.assign(call.part, call.proof)
  }

  /** Ends every call. `cut`: drops calls that have not shown their tool. */
  end(cut = false): void {
    for (const { part } of this.#calls) {
      if (part === undefined && cut) continue
      if (part === undefined) throw unavailable(this.#providerId, 'It sent a tool call without a name')
      this.#writer.end(part)
    }
  }

  #find(index: unknown, id: string): Call | undefined {
    const call = this.#calls.findLast((known) =>
      index === undefined ? id === '' || known.id === id : known.index === index,
    )
    return call !== undefined && id !== '' && call.id !== id ? undefined : call
  }

  #add(index: unknown, id: string): Call {
    if (this.#calls.length === MAX_CALLS) throw unavailable(this.#providerId, 'It sent too many tool calls')
    const call = { index, id: id === '' ? randomId('call') : id, name: '', held: '', proof: {}, part: undefined }
    this.#calls.push(call)
    return call
  }
}
