const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** The days of a time zone. */
export class Calendar {
  readonly #format: Intl.DateTimeFormat
  /** The hour that was looked up last, where it lies within one day. */
  #hour = Number.NaN
  #date = ''

  private constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    })
  }

  /** Undefined: there is no such zone. */
  static of(timeZone: string): Calendar | undefined {
    try {
      return new Calendar(timeZone)
    } catch {
      return undefined
    }
  }

  /** The date at a time, as YYYY-MM-DD; quick where times come in order. */
  dateOf(time: number): string {
    const hour = Math.floor(time / HOUR_MS)
    if (hour === this.#hour) return this.#date
    const first = this.#read(hour * HOUR_MS)
    const last = this.#read((hour + 1) * HOUR_MS - 1)
    // A day may end, and clocks may be changed, within an hour; some were changed a minute after midnight, back into
    // the day before.
    if (first.date !== last.date || last.minute - first.minute !== 59) return this.#read(time).date
    this.#hour = hour
    this.#date = first.date
    return first.date
  }

  #read(time: number): { readonly date: string; readonly minute: number } {
    const parts = this.#format.formatToParts(time)
    const of = (type: Intl.DateTimeFormatPartTypes): string => parts.find((part) => part.type === type)?.value ?? ''
    const date = `${of('year').padStart(4, '0')}-${of('month')}-${of('day')}`
    return { date, minute: Number(of('hour')) * 60 + Number(of('minute')) }
  }
}

/** How many days lie between two dates. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00Z`) - Date.parse(`${from}T00:00Z`)) / (24 * 60 * MINUTE_MS))
}
