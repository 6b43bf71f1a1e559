import type { DescEnum } from '@bufbuild/protobuf'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { idPattern, MAX_ID_LENGTH } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'

/** Makes a REQUEST_INVALID; `problem` completes a sentence that begins with the field's protobuf name. */
export function invalid(field: string, problem: string): Rejection {
  return new Rejection('REQUEST_INVALID', { field, problem })
}

/** Rejects with REQUEST_INVALID unless the condition holds. */
export function check(holds: boolean, field: string, problem: string): asserts holds {
  if (!holds) throw invalid(field, problem)
}

/** Rejects with REQUEST_INVALID unless the value is one of the enum's, other than UNSPECIFIED. */
export function checkEnum(schema: DescEnum, value: number, field: string): void {
  check(value !== 0 && schema.value[value] !== undefined, field, 'is not known')
}

/** Returns a text that must not be empty. */
export function parseRequired(field: string, text: string): string {
  check(text !== '', field, 'must not be empty')
  return text
}

/** Returns a text that has from `least` to `most` characters, counted as Unicode does. */
export function parseText(field: string, text: string, least: number, most: number): string {
  const problem = least === 0 ? `must have at most ${most} characters` : `must have ${least} to ${most} characters`
  check(isWithin(text, least, most), field, problem)
  return text
}

/** Whether a text has from `least` to `most` characters, counted as Unicode does. */
export function isWithin(text: string, least: number, most: number): boolean {
  // One character may be two code units: the shorter test decides for all but the longest texts.
  return text.length >= least && (text.length <= most || (text.length <= 2 * most && [...text].length <= most))
}

/** Returns a function that checks the form of an id that a client chose, and returns it. */
export function idParser(field: string, prefix: string): (id: string) => string {
  const pattern = idPattern(prefix)
  return (id) => {
    check(pattern.test(id), field, `must start with ${prefix} and have at most ${MAX_ID_LENGTH} characters`)
    return id
  }
}

/** The end of the year 9999, the latest time of a message, in milliseconds since the epoch. */
export const MAX_TIME = 253_402_300_799_999

/**
 * The paths in the mask of an update; none without a mask. Rejects with REQUEST_INVALID if it contains a path that is
 * not in `allowed`.
 */
export function parseMask<Path extends string>(mask: FieldMask | undefined, allowed: readonly Path[]): readonly Path[] {
  const isAllowed = (path: string): path is Path => (allowed as readonly string[]).includes(path)
  const paths = mask?.paths ?? []
  check(paths.every(isAllowed), 'update_mask', `must name only ${allowed.join(', ')}`)
  return paths
}
