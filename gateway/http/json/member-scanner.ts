import { Rejection } from '#shared/rejection.ts'
import type { Found } from './found.ts'
import { notJson } from './json-parser.ts'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

type State = Start | 'colon' | 'value' | 'after' | 'first item' | 'item' | 'after item' | 'over'
type Start = 'start' | 'first name' | 'name'

interface Frame {
  readonly array: boolean
  key: string
  /** Whether the next string is a name. */
  names: boolean
}

/**
 * Splits the bytes of a JSON object, as they arrive, into the values of its members, one of which is a list that is
 * split into its items. Within a value it knows strings and brackets only: what is not JSON is found by the parser of
 * the value. Rejects with BODY_MALFORMED.
 */
export class MemberScanner {
  readonly #list: string
  readonly #apart: ReadonlySet<string>
  readonly #frames: Frame[] = []
  #state: State = 'start'
  #member = ''
  #listed = false
  #reading = false
  /** Nothing of the value has been read yet. */
  #fresh = false
  #string: 'none' | 'member' | 'key' | 'text' | 'apart' = 'none'
  #escaped = false
  #text = ''
  /** Of a string that is given apart. */
  #path = ''

  /** `apart`: strings within an item of the list, as `files.[].data`. */
  constructor(list: string, apart: readonly string[]) {
    this.#list = list
    this.#apart = new Set(apart)
  }

  /** Whether the object has come to its end. */
  get over(): boolean {
    return this.#state === 'over'
  }

  /** The name of the member that is read. */
  get member(): string {
    return this.#member
  }

  /** Whether the list is there. */
  get listed(): boolean {
    return this.#listed
  }

  *scan(chunk: Buffer): Generator<Found> {
    let from = 0
    let at = 0
    while (at < chunk.length) {
      if (this.#string !== 'none') {
        const end = this.#stringEnd(chunk, at)
        const closed = end < chunk.length
        if (this.#string === 'apart') {
          yield { type: 'apart', path: this.#path, bytes: chunk.subarray(at, end), last: closed }
          from = end
        } else if (this.#string !== 'text') this.#text += chunk.toString('latin1', at, Math.min(end, at + 256))
        at = closed ? end + 1 : end
        if (closed && this.#closeString()) {
          yield { type: 'bytes', bytes: chunk.subarray(from, at) }
          yield { type: 'end', name: this.#member }
        }
        continue
      }
      const byte = chunk[at] as number
      if (!this.#reading) {
        if (this.#outside(byte)) from = at
        else at++
        continue
      }
      if (this.#frames.length === 0 && !this.#fresh && isScalarEnd(byte)) {
        yield { type: 'bytes', bytes: chunk.subarray(from, at) }
        this.#endValue()
        yield { type: 'end', name: this.#member }
        continue
      }
      at++
      this.#fresh = false
      if (byte === QUOTE) {
        if (this.#openString() === 'apart') yield { type: 'bytes', bytes: chunk.subarray(from, at) }
      } else if (this.#inside(byte)) {
        yield { type: 'bytes', bytes: chunk.subarray(from, at) }
        yield { type: 'end', name: this.#member }
      }
    }
    if (this.#reading && this.#string !== 'apart' && from < at) yield { type: 'bytes', bytes: chunk.subarray(from, at) }
  }

  /** Takes a byte between values; true: a value begins with it. */
  #outside(byte: number): boolean {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return false
    const state = this.#state
    if (state === 'start' && byte === OPEN_OBJECT) this.#state = 'first name'
    else if ((state === 'first name' || state === 'name') && byte === QUOTE) {
      this.#string = 'member'
      this.#text = ''
    } else if ((state === 'first name' || state === 'after') && byte === CLOSE_OBJECT) this.#state = 'over'
    else if (state === 'colon' && byte === COLON) this.#state = 'value'
    else if (state === 'after' && byte === COMMA) this.#state = 'name'
    else if (state === 'value' && this.#member === this.#list) {
      if (byte !== OPEN_ARRAY) throw new Rejection('BODY_INVALID', { field: this.#list, problem: 'must be an array' })
      if (this.#listed) throw new Rejection('BODY_INVALID', { field: this.#list, problem: 'must occur exactly once' })
      this.#listed = true
      this.#state = 'first item'
    } else if ((state === 'first item' || state === 'after item') && byte === CLOSE_ARRAY) this.#state = 'after'
    else if (state === 'after item' && byte === COMMA) this.#state = 'item'
    else if (state === 'value' || state === 'item' || state === 'first item') {
      this.#reading = true
      this.#fresh = true
      return true
    } else if (state === 'start' && byte === OPEN_ARRAY) {
      throw new Rejection('BODY_INVALID', { field: '', problem: 'must be an object' })
    } else throw notJson()
    return false
  }

  /** Takes a byte within a value, outside of strings; true: the value ends with it. */
  #inside(byte: number): boolean {
    const frame = this.#frames.at(-1)
    if (byte === OPEN_OBJECT) this.#frames.push({ array: false, key: '', names: true })
    else if (byte === OPEN_ARRAY) this.#frames.push({ array: true, key: '', names: false })
    else if (byte === COMMA && frame !== undefined) frame.names = !frame.array
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#frames.pop()
      if (this.#frames.length === 0) return this.#endValue()
    }
    return false
  }

  #openString(): 'key' | 'text' | 'apart' {
    const frame = this.#frames.at(-1)
    this.#text = ''
    this.#string = frame?.names === true ? 'key' : this.#isApart() ? 'apart' : 'text'
    return this.#string
  }

  #isApart(): boolean {
    if (this.#member !== this.#list || (this.#frames.length !== 3 && this.#frames.length !== 6)) return false
    const path = this.#frames.map(({ array, key }) => (array ? '[]' : key))
    this.#path = path.join('.')
    return this.#apart.has(this.#path)
  }

  /** True: the value was this string. */
  #closeString(): boolean {
    const string = this.#string
    this.#string = 'none'
    const frame = this.#frames.at(-1)
    if (string === 'member') {
      this.#member = this.#text
      this.#state = 'colon'
    } else if (string === 'key' && frame !== undefined) {
      frame.key = this.#text
      frame.names = false
    } else if (frame === undefined) return this.#endValue()
    return false
  }

  #endValue(): true {
    this.#reading = false
    this.#state = this.#member === this.#list ? 'after item' : 'after'
    return true
  }

  /** Where the string that goes on at `from` ends: its closing quote, or the end of the chunk. */
  #stringEnd(chunk: Buffer, from: number): number {
    let at = this.#escaped ? from + 1 : from
    this.#escaped = false
    for (;;) {
      const quote = chunk.indexOf(QUOTE, at)
      const end = quote < 0 ? chunk.length : quote
      let slashes = 0
      while (end - slashes > at && chunk[end - slashes - 1] === BACKSLASH) slashes++
      if (quote < 0) {
        this.#escaped = slashes % 2 === 1
        return end
      }
      if (slashes % 2 === 0) return quote
      at = quote + 1
    }
  }
}

function isScalarEnd(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte <= 0x20
}
