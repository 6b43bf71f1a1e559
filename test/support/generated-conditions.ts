import type { ConditionClaims } from '#services/identity/ports/conditions.ts'

/** Numbers that look random and are the same for the same seed: from 0, below 1. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Type = 'bool' | 'int' | 'string' | 'strings' | 'ints'

const TYPES: readonly Type[] = ['bool', 'int', 'string', 'strings', 'ints']
const LISTS = { string: 'strings', int: 'ints' } as const
const PLAIN = ['', 'a', 'b', 'ab', 'repo:acme/app', 'repo:', '0']
const TEXTS = [...PLAIN, 'é', '\u{1f600}', 'a\u{1f600}b', '\uffff', '"', "'", '\\', 'a\nb', '\u0000', ' a']
const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify(text),
  (text) => `'${escaped(text)}'`,
  (text) => `"""${escaped(text)}"""`,
  (text) => `'''${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'''`,
  (text) => (/["\n]/.test(text) ? `R'''${text}'''` : `r"${text}"`),
]

/** Every character as an escape, in one of its forms. */
function escaped(text: string): string {
  return [...text].map((character) => `\\U${character.codePointAt(0)?.toString(16).padStart(8, '0')}`).join('')
}

/** The place of an expression: how deep it may go, and the variable of the macro around it. */
interface Place {
  readonly depth: number
  readonly local?: { readonly name: string; readonly type: Type }
}

/** Writes conditions, most of which are well-typed, and claims for them. */
export class ConditionWriter {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  condition(): string {
    const comment = this.#random() < 0.05 ? '// a comment\n' : ''
    return comment + this.#write('bool', { depth: 1 + this.#below(4) })
  }

  claims(): ConditionClaims {
    const texts = (most: number) => Array.from({ length: this.#below(most + 1) }, () => this.#text())
    return { subject: this.#text(), audience: [this.#text(), ...texts(2)], scopes: texts(3), tokenType: this.#text() }
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<T>(...items: readonly T[]): T {
    return items[this.#below(items.length)] as T
  }

  #text(): string {
    return this.#random() < 0.7 ? this.#pick(...PLAIN) : this.#pick(...TEXTS)
  }

  #write(type: Type, place: Place): string {
    // Some things are out of place.
    const wanted = this.#random() < 0.005 ? this.#pick(...TYPES) : type
    if (place.local?.type === wanted && this.#random() < 0.5) return place.local.name
    return place.depth === 0 ? this.#leaf(wanted) : this.#pick(...this.#forms(wanted, place))()
  }

  #leaf(type: Type): string {
    if (type === 'bool') return this.#pick('true', 'false')
    if (type === 'int') return this.#pick('0', '1', '2', '3', '0x10', '9223372036854775807', '9223372036854775808')
    if (type === 'strings') return this.#pick('audience', 'scopes', 'scopes', '["a", "b"]', '["repo:",]', '[]')
    if (type === 'ints') return this.#pick('[1, 2]', '[0]', '[0, 1, 2]', '[]')
    return this.#random() < 0.5 ? this.#pick('subject', 'token_type') : this.#pick(...SPELLINGS)(this.#text())
  }

  #forms(type: Type, place: Place): readonly (() => string)[] {
    const inner = { ...place, depth: place.depth - 1 }
    const of = (child: Type): string => this.#bracketed(this.#write(child, inner))
    const two = (child: Type, ...operators: string[]) => `${of(child)} ${this.#pick(...operators)} ${of(child)}`
    const common = [() => `${of('bool')} ? ${of(type)} : ${of(type)}`, () => this.#leaf(type)]
    if (type === 'bool') {
      return [
        ...common,
        () => two('bool', '&&', '||'),
        () => two('bool', '&&', '||'),
        () => two('bool', '==', '!=', '<'),
        () => `!${of('bool')}`,
        () => two('int', '==', '!=', '<', '<=', '>', '>='),
        () => two('string', '==', '==', '!=', '<'),
        () => two(this.#pick('strings', 'ints'), '==', '!='),
        () => `${of('string')} in ${of('strings')}`,
        () => `${of('int')} in ${of('ints')}`,
        () => `${of('string')}.${this.#pick('startsWith', 'endsWith', 'contains')}(${of('string')})`,
        () => this.#macro(this.#pick('all', 'exists', 'exists_one'), place, 'bool'),
        () => this.#macro(this.#pick('all', 'exists', 'exists_one'), place, 'bool'),
        () => two('string', '==') + this.#pick(' == true', ' in [true]', ' != false'),
      ]
    }
    if (type === 'int') {
      return [
        ...common,
        () => two('int', '+', '-', '*', '/', '%'),
        () => `-${of('int')}`,
        () => `size(${of(this.#pick('string', 'strings'))})`,
        () => `${of(this.#pick('string', 'strings', 'ints'))}.size()`,
        () => `${of('ints')}[${of('int')}]`,
      ]
    }
    if (type === 'string') return [...common, () => two('string', '+'), () => `${of('strings')}[${of('int')}]`]
    const element = type === 'ints' ? 'int' : 'string'
    return [
      ...common,
      () => `[${of(element)}, ${of(element)}]`,
      () => `[${of(element)}]`,
      () => two(type, '+'),
      () => this.#macro('filter', place, 'bool', element),
      () => this.#macro('map', place, element),
    ]
  }

  #macro(
    name: string,
    place: Place,
    body: Type,
    over: 'string' | 'int' = this.#pick('string', 'string', 'int'),
  ): string {
    const [local, outer] = [this.#pick('s', 'x', 'subject_'), { ...place, depth: place.depth - 1 }]
    const inner: Place = { depth: outer.depth, local: { name: local, type: over } }
    const list = this.#bracketed(this.#write(LISTS[over], outer))
    const filter = name === 'map' && this.#random() < 0.3 ? `, ${this.#write('bool', inner)}` : ''
    return `${list}.${name}(${local}${filter}, ${this.#write(body, inner)})`
  }

  #bracketed(text: string): string {
    return /^\w+$/.test(text) || this.#random() < 0.15 ? text : `(${text})`
  }
}
