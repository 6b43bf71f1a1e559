import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { Rejection } from '#shared/rejection.ts'
import type { Cursor, Members } from '../kinds.ts'
import { check } from './check.ts'

type Texts = Record<string, unknown>

/** Reads the members of a schema from where texts come by name. */
export interface TextReader {
  /** From a query, as it stands in the URL after `?`. */
  query(text: string): unknown
  headers(headers: IncomingHttpHeaders): unknown
  /** From a form. */
  form(text: string): unknown
}

/**
 * Makes the reader of a schema whose members are texts, or objects of texts (`location[directory]`). What the schema
 * does not name is ignored. An empty text counts as left out where the schema refuses ''. Rejects with QUERY_INVALID,
 * HEADER_INVALID or BODY_INVALID when a text is given more than once, as a list or object, or does not fit.
 */
export function textReader(schema: Members, cursor?: Cursor): TextReader {
  const members = Object.entries(schema.shape).map(([name, member]) => memberOf(name, member))
  const names = members.map(({ name }) => name)
  return {
    query(text) {
      return check(schema, readMembers(new TextValues(text, 'QUERY_INVALID'), members, cursor), 'QUERY_INVALID')
    },
    headers(headers) {
      const texts: Texts = {}
      for (const [i, name] of names.entries()) {
        const value = headers[name]
        if (value === undefined || (value === '' && members[i]?.empty === false)) continue
        texts[name] = value
      }
      return check(schema, texts, 'HEADER_INVALID')
    },
    form(text) {
      const values = new TextValues(text, 'BODY_INVALID')
      values.requireEachOnce()
      return check(schema, readMembers(values, members), 'BODY_INVALID')
    },
  }
}

interface Member {
  readonly name: string
  /** Names of the members of an object. */
  readonly within: readonly string[] | undefined
  /** Whether an empty text means something. */
  readonly empty: boolean
}

function memberOf(name: string, schema: z.ZodType): Member {
  const bare = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  const within = bare instanceof z.ZodObject ? Object.keys(bare.shape) : undefined
  return { name, within, empty: schema.safeParse('').success }
}

function readMembers(values: TextValues, members: readonly Member[], cursor?: Cursor): Texts {
  const texts: Texts = {}
  const follows = cursor !== undefined && (values.one(cursor.name) ?? '') !== ''
  for (const { name, within, empty } of members) {
    if (follows && name !== cursor.name && !cursor.beside.includes(name)) continue
    const value = within === undefined ? values.text(name) : values.object(name, within)
    if (value !== undefined && (value !== '' || empty)) texts[name] = value
  }
  return texts
}

/** Of a form. */
const MOST_PARAMETERS = 32
/** How many characters of an unknown name are repeated in an error. */
const LONGEST_NAME = 64

/** Texts by name, as sent. */
class TextValues {
  readonly #values = new Map<string, string[]>()
  readonly #reason: 'QUERY_INVALID' | 'BODY_INVALID'

  constructor(text: string, reason: 'QUERY_INVALID' | 'BODY_INVALID') {
    this.#reason = reason
    for (const [name, value] of new URLSearchParams(text)) {
      const values = this.#values.get(name)
      if (values === undefined) this.#values.set(name, [value])
      else values.push(value)
    }
  }

  /** Refuses too many names, and what is given more than once, named by the schema or not (RFC 6749 section 3.2). */
  requireEachOnce(): void {
    if (this.#values.size > MOST_PARAMETERS) throw this.#invalid('', `has more than ${MOST_PARAMETERS} parameters`)
    for (const [name, { length }] of this.#values) {
      if (length > 1) throw this.#invalid(name.slice(0, LONGEST_NAME), 'must be given only once')
    }
  }

  text(name: string): string | undefined {
    for (const key of this.#values.keys()) if (key.startsWith(`${name}[`)) throw this.#invalid(name, 'must be a string')
    return this.one(name)
  }

  /** `name` itself may only be empty or `null`. */
  object(name: string, within: readonly string[]): Texts | undefined {
    const texts: Texts = {}
    for (const [key, values] of this.#values) {
      const misused =
        key === name
          ? values.some((value) => value !== '' && value !== 'null')
          : key.startsWith(`${name}[`) && !within.some((member) => key === `${name}[${member}]`)
      if (misused) throw this.#invalid(name, `must be ${name}[${within[0]}]`)
    }
    for (const member of within) {
      const value = this.one(`${name}[${member}]`)
      if (value !== undefined && value !== '') texts[member] = value
    }
    return Object.keys(texts).length === 0 ? undefined : texts
  }

  one(name: string): string | undefined {
    const values = this.#values.get(name)
    if (values === undefined) return undefined
    if (values.length > 1) throw this.#invalid(name, 'must be given only once')
    const [value = ''] = values
    if (value.includes('\0')) throw this.#invalid(name, 'must not contain NUL')
    return value
  }

  #invalid(field: string, problem: string): Rejection {
    return new Rejection(this.#reason, { field, problem })
  }
}
