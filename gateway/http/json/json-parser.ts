import { setImmediate as nextTurn } from 'node:timers/promises'
import { Rejection } from '#shared/rejection.ts'

/** How long a text is parsed before others get their turn, in milliseconds. */
const TURN_MS = 5
/** Characters between two looks at the clock; the last of their tokens is finished, but for long strings and spaces. */
const STRETCH = 2_000
/** A shorter string is copied by `slice`; a longer one would hold the whole text. */
const COPIED = 13

type Container = unknown[] | Record<string, unknown>

/** What the parser expects next. */
type State = 'value' | 'first item' | 'name' | 'first name' | 'colon' | 'after'

/**
 * Parses as JSON.parse does, other work in between: JSON.parse takes seconds for what has hundreds of thousands of
 * members with different names. Throws SyntaxError; `check` is given every string that has escapes, and may throw as
 * well; `proceed` is called before each further turn, to throw when nobody waits any more.
 */
export async function parseInTurns(text: string, check: Check, proceed: () => void): Promise<unknown> {
  const parser = new Parser(text, check)
  while (!parser.run(performance.now() + TURN_MS)) {
    await nextTurn()
    proceed()
  }
  return parser.result
}

/** Looks at a string; `isName`: it is the name of a member. `path` says where it is: a name, in which object. */
export type Check = (text: string, isName: boolean, path: () => Path) => void

/** Names of members and places in lists, outermost first. */
export type Path = readonly PropertyKey[]

class Parser {
  readonly #text: string
  readonly #check: Check
  #at = 0
  #state: State = 'value'
  /** The containers around the place, innermost last, and the names of the members they are read for. */
  readonly #open: Container[] = []
  readonly #names: string[] = []
  result: unknown
  #over = false
  /** Where the clock is looked at next. */
  #pause = 0
  /** Up to where a string that began before the last pause is read; 0: none was. */
  #read = 0
  #escapes = false

  constructor(text: string, check: Check) {
    this.#text = text
    this.#check = check
  }

  /** Goes on until the end of the text, when it returns true, or until the time. */
  run(until: number): boolean {
    while (performance.now() < until) {
      this.#pause = Math.max(this.#at, this.#read) + STRETCH
      while (this.#at < this.#pause) {
        const code = this.#skipSpace()
        if (this.#at >= this.#pause) break
        if (this.#over) {
          if (Number.isNaN(code)) return true
          throw new SyntaxError('Text after the end')
        }
        if (code === QUOTE && !this.#readString()) break
        this.#step(code)
      }
    }
    return false
  }

  #step(code: number): void {
    const state = this.#state
    if (state === 'after') {
      const inArray = Array.isArray(this.#open.at(-1))
      if (code === COMMA) {
        this.#at++
        this.#state = inArray ? 'value' : 'name'
      } else if (code === (inArray ? CLOSE_ARRAY : CLOSE_OBJECT)) this.#close()
      else throw new SyntaxError('Expected a comma or the end')
    } else if (state === 'first item' && code === CLOSE_ARRAY) this.#close()
    else if (state === 'first name' && code === CLOSE_OBJECT) this.#close()
    else if (state === 'name' || state === 'first name') {
      if (code !== QUOTE) throw new SyntaxError('Expected a name')
      this.#names.push(this.#string(true))
      this.#state = 'colon'
    } else if (state === 'colon') {
      if (code !== COLON) throw new SyntaxError('Expected a colon')
      this.#at++
      this.#state = 'value'
    } else this.#value(code)
  }

  #value(code: number): void {
    if (code === QUOTE) this.#put(this.#string(false))
    else if (code === OPEN_ARRAY) this.#begin([], 'first item')
    else if (code === OPEN_OBJECT) this.#begin({}, 'first name')
    else this.#put(this.#scalar())
  }

  #begin(container: Container, state: State): void {
    this.#at++
    this.#open.push(container)
    this.#state = state
  }

  #close(): void {
    this.#at++
    this.#put(this.#open.pop())
  }

  #put(value: unknown): void {
    const container = this.#open.at(-1)
    this.#state = 'after'
    if (container === undefined) {
      this.result = value
      this.#over = true
    } else if (Array.isArray(container)) container.push(value)
    else {
      const name = this.#names.pop() as string
      if (name === '__proto__') Object.defineProperty(container, name, { ...OWN, value })
      else container[name] = value
    }
  }

  /** A number or word: whatever reaches to the next sign of structure. The gauge has seen to it that it is short. */
  #scalar(): unknown {
    const start = this.#at
    while (!isEnd(this.#text.charCodeAt(this.#at))) this.#at++
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  /** Reads on to the closing quote of the string that begins here; false when the clock is to be looked at before. */
  #readString(): boolean {
    let at = this.#read === 0 ? this.#at + 1 : this.#read
    let escapes = this.#read !== 0 && this.#escapes
    for (let code = this.#text.charCodeAt(at); code !== QUOTE; code = this.#text.charCodeAt(++at)) {
      if (at >= this.#pause) {
        this.#escapes = escapes
        this.#read = at
        return false
      }
      if (code === BACKSLASH) {
        escapes = true
        at++
      } else if (!(code >= 0x20)) throw new SyntaxError('A control character, or no end, in a string')
    }
    this.#escapes = escapes
    this.#read = at
    return true
  }

  /** The string that was read. */
  #string(isName: boolean): string {
    const start = this.#at
    const end = this.#read
    this.#read = 0
    this.#at = end + 1
    if (!this.#escapes && end - start < COPIED) return this.#text.slice(start + 1, end)
    const value: string = JSON.parse(this.#text.slice(start, end + 1))
    if (this.#escapes) this.#check(value, isName, this.#path)
    return value
  }

  readonly #path = (): Path => {
    const names = this.#names.values()
    return this.#open.flatMap((container) => (Array.isArray(container) ? container.length : (names.next().value ?? [])))
  }

  /** Moves to the next token, or to the pause; the code there, NaN at the end. */
  #skipSpace(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (!isSpace(code) || this.#at >= this.#pause) return code
      this.#at++
    }
  }
}

const OWN = { writable: true, enumerable: true, configurable: true }
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** Whether a number or word ends before it; NaN: the text does. */
function isEnd(code: number): boolean {
  return code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code) || Number.isNaN(code)
}

/** What is said of a body that is not JSON. */
export function notJson(): Rejection {
  return new Rejection('BODY_MALFORMED', { problem: 'the body is not valid JSON' })
}
