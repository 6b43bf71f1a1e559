import { z } from 'zod'

/** Milliseconds since the epoch, to the end of the year 9999. */
export const time = z.int().min(0).max(253_402_300_799_999).meta({ description: 'Milliseconds since the epoch' })

/** A moment, in ISO 8601. */
export const moment = z.iso.datetime()

/** Likewise, with the offset of any time zone. In a URL its `+` is `%2B`: a bare one is a space. */
export const anyMoment = z.iso.datetime({
  offset: true,
  error: 'must be a time such as 2026-07-01T12:00:00Z or 2026-07-01T14:00:00+02:00 (in a URL, %2B02:00)',
})

export const fromMoment = (time: number): string => new Date(time).toISOString()

export function fromMaybeMoment(time: number | undefined): string | null {
  return time === undefined ? null : fromMoment(time)
}
