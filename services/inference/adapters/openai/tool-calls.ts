import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import { randomId } from '#shared/ids.ts'
import type { JsonObject } from '#shared/json.ts'
import { argumentsAt, isEmptyObject, objectAt, textAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { readProof } from './pieces.ts'

const MAX_CALLS = 512
/** The index of the call of an answer in the form that OpenAI's first tools had. */
const LEGACY = 'function_call'

interface Call {
  readonly index: unknown
  readonly id: string
  name: string
  custom: boolean
  backlog: string
  /** Whether arguments came as an object without members, which counts only if nothing else comes. */
  isBlank: boolean
  /** The provider's proof of the call; empty: none has come. */
  proof: ReturnType<typeof readProof>
  part: OpenPart | undefined
}

/**
 * Assembles tool calls from their deltas. Servers differ: some omit the index or the id, some give every call the index
 * 0, some repeat the name (MiniMax), and some send it in pieces (Gemini).
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
    const body = custom ?? objectAt(delta.function)
    const name = textAt(body?.name)
    const args = body?.arguments
    const isBlank = isEmptyObject(args)
    const text = (isBlank ? '' : argumentsAt(this.#providerId, args)) || argumentsAt(this.#providerId, custom?.input)
    const call = this.#find(delta.index, id) ?? this.#add(delta.index, id)
    call.isBlank ||= isBlank
    call.proof = { ...call.proof, ...readProof(delta.extra_content) }
    if (call.part === undefined) {
      if (name !== call.name) call.name = name.startsWith(call.name) ? name : call.name + name
      call.backlog += text
      call.custom ||= custom !== undefined
      if (call.name === '' || this.#mayGoOn(call)) return
      this.#start(call)
    } else {
      if (text !== '') this.#writer.extend(call.part, text)
      Object.assign(call.part, call.proof)
    }
  }

  /** The only call of a server that knows no other form, or the same call in that form again. */
  pushLegacy(body: JsonObject): void {
    if (this.#calls.every(({ index }) => index === LEGACY)) this.push({ index: LEGACY, function: body })
  }

  /** Starts calls whose names might have gone on: another part of the answer begins. */
  startHeld(): void {
    for (const call of this.#calls) if (call.part === undefined && call.name !== '') this.#start(call)
  }

  /** Ends every call. `cut`: drops calls that have not shown their tool. */
  end(cut = false): void {
    for (const call of this.#calls) {
      if (call.part === undefined && cut) continue
      if (call.name === '') throw unavailable(this.#providerId, 'It sent a tool call without a name')
      const part = call.part ?? this.#start(call)
      if (call.isBlank && part.text === '') this.#writer.extend(part, '{}')
      this.#writer.end(part)
    }
  }

  /** Whether more of the name may come: no arguments have, or there is no tool of that name. */
  #mayGoOn({ name, backlog }: Call): boolean {
    return (backlog === '' || !this.#flat.has(name)) && this.#flat.mayGoOn(name)
  }

  #start(call: Call): OpenPart {
    const { id: callId, name, custom, proof, backlog } = call
    call.part = this.#writer.start(Kind.TOOL_CALL, { callId, ...this.#flat.toolOf(name), custom, ...proof })
    if (backlog !== '') this.#writer.extend(call.part, backlog)
    call.backlog = ''
    return call.part
  }

  #find(index: unknown, id: string): Call | undefined {
    const call = this.#calls.findLast((each) =>
      index === undefined ? id === '' || each.id === id : each.index === index,
    )
    return call !== undefined && id !== '' && call.id !== id ? undefined : call
  }

  #add(index: unknown, id: string): Call {
    if (this.#calls.length === MAX_CALLS) throw unavailable(this.#providerId, 'It sent too many tool calls')
    this.startHeld()
    const call = {
      index,
      id: id === '' ? randomId('call') : id,
      name: '',
      custom: false,
      backlog: '',
      isBlank: false,
      proof: {},
      part: undefined,
    }
    this.#calls.push(call)
    return call
  }
}
