import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long a text is parsed before others get their turn, in milliseconds. */
const TURN_MS = 5
/** Tokens between two looks at the clock. */
const TOKENS = 500
/** A shorter string is copied by `slice`; a longer one would hold the whole text. */
const COPIED = 13

type Container = unknown[] | Record<string, unknown>

/** What the parser expects next. */
type State = 'value' | 'first item' | 'name' | 'first name' | 'after'

/**
 * Parses as JSON.parse does, other work in between: JSON.parse takes seconds for what has hundreds of thousands of members with
 * different names. Throws SyntaxError; `check` is given every string that has escapes, and may throw as well; `proceed` is
 * called before each further turn, to throw when nobody waits any more.
 */
export async function parseInTurns(text: string, check: Check, proceed: () => void): Promise<unknown> {
  const parser = new Parser(text, check)
  while (!parser.run(performance.now() + TURN_MS)) {
    await nextTurn()
    proceed()
  }
  return parser.result
}

/** Looks at a string; `name`: it is the name of a member. */
export type Check = (text: string, name: boolean) => void

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

  constructor(text: string, check: Check) {
    this.#text = text
    this.#check = check
  }

  /** Goes on until the end of the text, when it returns true, or until the time. */
  run(until: number): boolean {
    while (performance.now() < until) {
      for (let i = 0; i < TOKENS; i++) {
        const code = this.#skipSpace()
        if (this.#over) {
          if (Number.isNaN(code)) return true
          throw new SyntaxError('Text after the end')
        }
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
      if (this.#skipSpace() !== COLON) throw new SyntaxError('Expected a colon')
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

  /** A number or word: whatever reaches to the next sign of structure. */
  #scalar(): unknown {
    const start = this.#at
    while (!ENDS.has(this.#text.charCodeAt(this.#at))) this.#at++
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  #string(name: boolean): string {
    const start = this.#at
    let escapes = false
    let at = start + 1
    for (let code = this.#text.charCodeAt(at); code !== QUOTE; code = this.#text.charCodeAt(++at)) {
      if (code === BACKSLASH) {
        escapes = true
        at++
      } else if (!(code >= 0x20)) throw new SyntaxError('A control character, or no end, in a string')
    }
    this.#at = at + 1
    if (!escapes && at - start < COPIED) return this.#text.slice(start + 1, at)
    const value: string = JSON.parse(this.#text.slice(start, at + 1))
    if (escapes) this.#check(value, name)
    return value
  }

  /** Moves to the next token; its first code, NaN at the end. */
  #skipSpace(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      this.#at++
    }
  }
}

const OWN = { writable: true, enumerable: true, configurable: true }
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const ENDS = new Set([COMMA, CLOSE_ARRAY, CLOSE_OBJECT, 0x20, 0x0a, 0x0d, 0x09, Number.NaN])
