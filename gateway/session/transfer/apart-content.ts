import { ToolFileSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { PutImportedContentRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'

/** Most bytes of a file that the service takes: nothing much larger is held. */
const { most: MOST } = limitOf(PutImportedContentRequestSchema.field.data)
/** Most characters of an address. */
const { most: MOST_ADDRESS } = limitOf(ToolFileSchema.field.uri)
/** What a URI with content of its own begins with. */
const PREFIX = /^data:[^,]{0,255};base64,/
/** Base64 that goes on. */
const WHOLE = /^[A-Za-z0-9+/]*$/
/** How much of the beginning of a URI is inspected. */
const BEGINNING = 300

/** The buffer in which content is assembled: one for all files of an import, reused once the last content was sent. */
export class Scratch {
  #bytes = Buffer.allocUnsafeSlow(1_048_576)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Begins anew. */
  clear(): void {
    this.#size = 0
  }

  /** Decodes base64 and appends it. */
  append(base64: string): void {
    const size = this.#size + Math.floor((base64.length * 3) / 4)
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#bytes.length))
      this.#bytes.copy(larger, 0, 0, this.#size)
      this.#bytes = larger
    }
    this.#size += this.#bytes.write(base64, this.#size, 'base64')
  }

  bytes(): Buffer<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#size)
  }
}

/**
 * A text of an import that may be the content of a file: base64 that is decoded as it comes, or an address that stays
 * what it is. Rejects with BODY_INVALID.
 */
export class ApartContent {
  readonly #path: string
  readonly #scratch: Scratch
  /** Base64 that is not decoded yet, or the text of an address. */
  #text = ''
  #kind: 'content' | 'address' | 'unknown'

  constructor(path: string, scratch: Scratch) {
    this.#path = path
    this.#scratch = scratch
    scratch.clear()
    this.#kind = path.endsWith('.uri') ? 'unknown' : 'content'
  }

  /** The address, when it is one. */
  get text(): string {
    return this.#text
  }

  /** The content; undefined when it is an address. */
  get data(): Buffer<ArrayBuffer> | undefined {
    return this.#kind === 'content' ? this.#scratch.bytes() : undefined
  }

  add(text: string, last: boolean): void {
    this.#text += text
    if (this.#kind === 'unknown') this.#find(last)
    if (this.#kind === 'content') this.#decode(last)
    else if (this.#text.length > MOST_ADDRESS) throw this.#invalid(`must have at most ${MOST_ADDRESS} characters`)
  }

  #find(last: boolean): void {
    const prefix = PREFIX.exec(this.#text)?.[0]
    if (prefix !== undefined) {
      this.#kind = 'content'
      this.#text = this.#text.slice(prefix.length)
    } else if (last || this.#text.length > BEGINNING) this.#kind = 'address'
  }

  /** The end is kept back while more may follow, since base64 may only be padded there. */
  #decode(last: boolean): void {
    const { length } = this.#text
    const base64 = last ? this.#text : this.#text.slice(0, Math.max(0, length - (length % 4 || 4)))
    this.#text = this.#text.slice(base64.length)
    const canonical = last ? Buffer.from(base64, 'base64').toString('base64') === base64 : WHOLE.test(base64)
    if (!canonical) throw this.#invalid('must be canonical base64')
    if (this.#scratch.size + (base64.length * 3) / 4 > MOST + 2) throw this.#invalid(`must have at most ${MOST} bytes`)
    this.#scratch.append(base64)
  }

  #invalid(problem: string): Rejection {
    return new Rejection('BODY_INVALID', { field: `messages.${this.#path}`, problem })
  }
}
