import type { Request } from 'express'
import { Rejection } from '#shared/rejection.ts'

/** Query parameters by name, as sent. */
export type Query = ReadonlyMap<string, readonly string[]>

const NO_QUERY: Query = new Map()

/** Reads the query of a request. Names that an operation does not know are ignored, whatever they hold. */
export function readQuery(request: Request): Query {
  const start = request.url.indexOf('?')
  if (start < 0) return NO_QUERY
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(request.url.slice(start + 1))) {
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}

/**
 * One parameter. Absent and empty both mean "not given". Rejects with QUERY_INVALID when it is given more than once or
 * as a list or object.
 */
export function queryText(query: Query, name: string): string | undefined {
  const value = queryTextOrEmpty(query, name)
  return value === '' ? undefined : value
}

/** As {@link queryText}, for a parameter whose empty value means something. */
export function queryTextOrEmpty(query: Query, name: string): string | undefined {
  if (query.size === 0) return undefined
  for (const key of query.keys()) {
    if (key.startsWith(`${name}[`)) throw new Rejection('QUERY_INVALID', { field: name, problem: 'Expected a string' })
  }
  return single(query, name)
}

/** A parameter that is one of some words. */
export function queryWord<W extends string>(query: Query, name: string, words: readonly W[]): W | undefined {
  const value = queryText(query, name)
  if (value === undefined || words.includes(value as W)) return value as W | undefined
  const problem = `Expected ${words.map((word) => `"${word}"`).join(' or ')}`
  throw new Rejection('QUERY_INVALID', { field: name, problem })
}

/** A parameter that is an integer from `least` to `most`; larger ones are taken as `most` when `most` is a cap. */
export function queryInteger(query: Query, name: string, least: number, most: number): number | undefined {
  const value = queryText(query, name)
  if (value === undefined) return undefined
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`
  throw new Rejection('QUERY_INVALID', { field: name, problem: `Expected an integer ${range}` })
}

/**
 * The directory a request is about: `location[directory]`, else the header `x-opencode-directory` (percent-encoded),
 * else empty, which means the default project directory (`contract/instance-facts.md` 1.1).
 */
export function requestDirectory(request: Request, query: Query): string {
  if (query.size > 0) {
    if (queryLocationMisused(query)) {
      throw new Rejection('QUERY_INVALID', { field: 'location', problem: 'Expected location[directory]' })
    }
    const directory = single(query, 'location[directory]')
    if (directory !== undefined && directory !== '') return wellFormed(directory, 'location[directory]')
  }
  const header = request.headers['x-opencode-directory']
  if (typeof header !== 'string' || header === '') return ''
  try {
    return wellFormed(decodeURIComponent(header), 'x-opencode-directory')
  } catch (error) {
    if (error instanceof Rejection) throw error
    throw new Rejection('HEADER_INVALID', { field: 'x-opencode-directory', problem: 'Not percent-encoded' })
  }
}

function queryLocationMisused(query: Query): boolean {
  for (const [key, values] of query) {
    if (key === 'location' && values.some((value) => value !== '' && value !== 'null')) return true
    // `location[workspace]` is what 1.x clients send beside the directory.
    if (key.startsWith('location[') && key !== 'location[directory]' && key !== 'location[workspace]') return true
  }
  return false
}

function single(query: Query, name: string): string | undefined {
  const values = query.get(name)
  if (values === undefined) return undefined
  if (values.length > 1) throw new Rejection('QUERY_INVALID', { field: name, problem: 'Given more than once' })
  return wellFormed(values[0] as string, name)
}

function wellFormed(value: string, name: string): string {
  if (value.includes('\0')) throw new Rejection('QUERY_INVALID', { field: name, problem: 'Contains NUL' })
  return value
}
