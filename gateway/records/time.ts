import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { z } from 'zod'

/** Milliseconds since the epoch, to the end of the year 9999: protobuf knows no later time. */
export const time = z.int().min(0).max(253_402_300_799_999).meta({ description: 'Milliseconds since the epoch' })

/** A time of a message: most are milliseconds since the epoch. */
type Time = Timestamp | number

export function fromTime(at: Time): number
export function fromTime(at: Time | undefined): number | undefined
export function fromTime(at: Time | undefined): number | undefined {
  return typeof at === 'object' ? Number(at.seconds) * 1000 + Math.floor(at.nanos / 1e6) : at
}

/** A time that the service always gives. */
export function fromSetTime(at: Time | undefined): number {
  if (at === undefined) throw new Error('A service returned no time')
  return fromTime(at)
}

/** A moment, in ISO 8601. */
export const moment = z.iso.datetime()

/** Likewise, with the offset of any time zone. In a URL its `+` is `%2B`: a bare one is a space. */
export const anyMoment = z.iso.datetime({
  offset: true,
  error: 'must be a time such as 2026-07-01T12:00:00Z or 2026-07-01T14:00:00+02:00 (in a URL, %2B02:00)',
})

export const fromMoment = (time: Time | undefined): string => new Date(fromSetTime(time)).toISOString()

export function fromMaybeMoment(time: Time | undefined): string | null {
  return time === undefined ? null : new Date(fromTime(time) ?? 0).toISOString()
}
