import { StringDecoder } from 'node:string_decoder'
import type { Request } from 'express'
import { z } from 'zod'
import { Rejection } from '#shared/rejection.ts'
import { MISSING } from '#shared/schema-problem.ts'
import type { BodyPart, ListBody } from '../kinds.ts'
import { parseJson, readPieces } from './body.ts'
import { check } from './check.ts'
import { JSON_LIMITS, JsonGauge } from './json/json-gauge.ts'
import { notJson } from './json/json-parser.ts'
import { MemberScanner } from './json/member-scanner.ts'

/**
 * Most bytes of a member or a list item, without the texts that are handed over separately: more than a service
 * accepts.
 */
const MOST = 16 * 1_048_576
/** The structural limits of one of them: it is parsed, checked and translated in one go. */
const LIMITS = { ...JSON_LIMITS, members: 100_000 }

/**
 * Reads a JSON object of at most `limit` bytes as it arrives. Only one member, or one list item, is held in memory.
 * Each is parsed and checked by itself. Rejects as `readJson` does, and with BODY_INVALID.
 */
export async function* readList(request: Request, limit: number, body: ListBody): AsyncGenerator<BodyPart> {
  const scanner = new MemberScanner(body.list, body.apart)
  const seen = new Set<string>()
  let items = 0
  let value = new Value()
  const apart = new ApartText()
  for await (const chunk of readPieces(request, limit)) {
    for (const found of scanner.scan(chunk)) {
      if (found.type === 'bytes') {
        // A body that is no longer wanted is not read to its end.
        if (value.isEmpty) memberOf(body, scanner.member)
        value.add(found.bytes)
      } else if (found.type === 'apart') {
        const { path, last } = found
        const text = apart.next(found.bytes, last)
        yield { name: body.list, path, apart: text, last, replace: (by) => value.add(Buffer.from(inString(by))) }
      } else {
        const { name } = found
        const path = name === body.list ? [name, items++] : [name]
        if (name !== body.list) requireOnce(name, seen)
        seen.add(name)
        const schema = memberOf(body, name)
        const bytes = value.bytes()
        const parsed = await parseJson(request, bytes, value.members, path)
        value = new Value()
        yield { name, value: check(schema, body.tidy(parsed), 'BODY_INVALID', path), size: bytes.length }
      }
    }
  }
  if (!scanner.over) throw notJson()
  if (scanner.listed) seen.add(body.list)
  const missing = body.required.find((name) => !seen.has(name))
  if (missing !== undefined) throw new Rejection('BODY_INVALID', { field: missing, problem: MISSING })
}

function memberOf({ members, hints }: ListBody, name: string): z.ZodType {
  if (Object.hasOwn(hints, name)) throw new Rejection('BODY_INVALID', { field: name, problem: hints[name] ?? '' })
  const schema = Object.hasOwn(members, name) ? members[name] : undefined
  if (schema === undefined) check(z.strictObject({}), { [name]: null }, 'BODY_INVALID')
  return schema as z.ZodType
}

function requireOnce(name: string, seen: ReadonlySet<string>): void {
  if (seen.has(name)) throw new Rejection('BODY_INVALID', { field: name, problem: 'must occur exactly once' })
}

function inString(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** The bytes of a value, as they come. */
class Value {
  readonly #gauge = new JsonGauge(LIMITS)
  readonly #pieces: Buffer[] = []
  #size = 0

  get members(): number {
    return this.#gauge.members
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  add(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > MOST) {
      throw new Rejection('BODY_MALFORMED', {
        problem: `a message has more than ${MOST} bytes, not counting its files`,
      })
    }
    this.#gauge.add(bytes)
    this.#pieces.push(bytes)
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}

/** The text of a string of JSON, piece by piece. */
class ApartText {
  readonly #decoder = new StringDecoder('utf8')
  /** What may be half of an escape. */
  #half = ''

  next(bytes: Buffer, last: boolean): string {
    const text = this.#half + (last ? this.#decoder.end(bytes) : this.#decoder.write(bytes))
    this.#half = ''
    if (!text.includes('\\')) return text
    if (!last) this.#half = /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$/.exec(text)?.[1] ?? ''
    try {
      return JSON.parse(`"${text.slice(0, text.length - this.#half.length)}"`)
    } catch {
      throw notJson()
    }
  }
}
