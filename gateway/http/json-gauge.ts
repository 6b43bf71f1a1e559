import { Rejection } from '#shared/rejection.ts'

/** Limits on the structure of a JSON text. */
export interface JsonLimits {
  /** Levels of arrays and objects within each other. */
  readonly depth: number
  /** Members of all objects and items of all arrays together. */
  readonly members: number
  /** Members of one object. To list those of an object with hundreds of thousands takes longer than to read it. */
  readonly width: number
  /** Characters of one number or word. */
  readonly scalar: number
}

/** The limits of a JSON body; parsing a larger one would keep every other request waiting. */
export const JSON_LIMITS: JsonLimits = { depth: 100, members: 500_000, width: 20_000, scalar: 1_000 }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACE = 0x7b
/**
 * How many bytes of a string are searched one by one for its end: most strings are short, and a native search costs as
 * much as this.
 */
const NEAR = 32

/** Part of a number or word. */
const OTHER = 0
const SPACE = 1
const OPEN = 2
const CLOSE = 3
const COMMA = 4
const TEXT = 5

/** Byte → what it is outside of strings. */
const KINDS = new Uint8Array(256)
for (const space of ' \t\n\r:') KINDS[space.charCodeAt(0)] = SPACE
for (const open of '{[') KINDS[open.charCodeAt(0)] = OPEN
for (const close of '}]') KINDS[close.charCodeAt(0)] = CLOSE
KINDS[','.charCodeAt(0)] = COMMA
KINDS[QUOTE] = TEXT

/**
 * Counts what a JSON text consists of while its bytes arrive, before anything is parsed. It understands no more of JSON
 * than strings and brackets: a text that is not JSON is counted somehow, and refused by the parser.
 */
export class JsonGauge {
  readonly #limits: JsonLimits
  #members = 0
  /** Members of the open containers; those of arrays start below zero, since they have no limit of their own. */
  readonly #widths: number[] = []
  /** The same of the innermost one. */
  #width = 0
  /** The innermost container has nothing in it yet. */
  #fresh = false
  #inString = false
  /** The next byte belongs to an escape that the last chunk began. */
  #escaped = false
  /** Characters of the number or word with which the last chunk ended. */
  #begun = 0

  constructor(limits: JsonLimits = JSON_LIMITS) {
    this.#limits = limits
  }

  /** Members and items so far. */
  get members(): number {
    return this.#members
  }

  /** Takes the next bytes in. Rejects with BODY_MALFORMED as soon as a limit is passed. */
  add(chunk: Uint8Array): void {
    const { length } = chunk
    let at = this.#inString ? this.#stringEnd(chunk, this.#escaped ? 1 : 0) : 0
    let fresh = this.#fresh
    const begun = this.#begun
    this.#begun = 0
    while (at < length) {
      const byte = chunk[at++] ?? 0
      const kind = KINDS[byte]
      if (kind === SPACE) continue
      if (kind === CLOSE) {
        fresh = false
        this.#width = this.#widths.pop() ?? 0
      } else if (kind === COMMA) this.#count()
      else {
        if (fresh) {
          fresh = false
          this.#count()
        }
        if (kind === TEXT) at = this.#stringEnd(chunk, at)
        else if (kind === OPEN) {
          this.#open(byte)
          fresh = true
        } else {
          const from = at === 1 ? -begun : at - 1
          while (at < length && KINDS[chunk[at] ?? 0] === OTHER) at++
          if (at - from > this.#limits.scalar) {
            throw tooMuch(`the JSON has a number or word of more than ${this.#limits.scalar} characters`)
          }
          if (at === length) this.#begun = at - from
        }
      }
    }
    this.#fresh = fresh
  }

  #open(byte: number): void {
    const { depth, members } = this.#limits
    this.#widths.push(this.#width)
    if (this.#widths.length > depth) throw tooMuch(`the JSON is nested more than ${depth} levels deep`)
    this.#width = byte === BRACE ? 0 : -members
  }

  #count(): void {
    const { members, width } = this.#limits
    this.#members += 1
    this.#width += 1
    if (this.#members > members) throw tooMuch(`the JSON has more than ${members} members and items`)
    if (this.#width > width) throw tooMuch(`the JSON has an object with more than ${width} members`)
  }

  /** Where a string ends that goes on at `from`: after its closing quote, or beyond the chunk. */
  #stringEnd(chunk: Uint8Array, from: number): number {
    let at = from
    for (;;) {
      for (const near = Math.min(at + NEAR, chunk.length); at < near; at++) {
        const byte = chunk[at]
        if (byte === QUOTE) {
          this.#inString = false
          return at + 1
        }
        if (byte === BACKSLASH) at++
      }
      if (at >= chunk.length) return this.#suspend(at > chunk.length)
      const quote = chunk.indexOf(QUOTE, at)
      const end = quote < 0 ? chunk.length : quote
      let slashes = 0
      while (end - slashes > at && chunk[end - slashes - 1] === BACKSLASH) slashes++
      if (quote < 0) return this.#suspend(slashes % 2 === 1)
      if (slashes % 2 === 0) {
        this.#inString = false
        return quote + 1
      }
      at = quote + 1
    }
  }

  #suspend(escaped: boolean): number {
    this.#inString = true
    this.#escaped = escaped
    return Number.POSITIVE_INFINITY
  }
}

function tooMuch(problem: string): Rejection {
  return new Rejection('BODY_MALFORMED', { problem })
}
