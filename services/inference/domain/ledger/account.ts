import type { LimitReset } from './key-terms.ts'

/** What a key, or a workspace, spent by now, and what its requests hold while they run. */
export interface Account {
  readonly totalNanos: bigint
  /** The UTC day, counted from the epoch, that the next three belong to. */
  readonly day: number
  readonly dayNanos: bigint
  /** Since the Monday of its week. */
  readonly weekNanos: bigint
  /** Since the first of its month. */
  readonly monthNanos: bigint
  /** The minute, counted from the epoch, that the next two belong to. */
  readonly minute: number
  readonly minuteRequests: number
  readonly minuteTokens: bigint
  readonly heldNanos: bigint
  readonly heldRequests: number
}

/** What a request holds while it runs. */
export interface Hold {
  readonly nanos: bigint
  /** What its input was taken for. */
  readonly inputTokens: bigint
  /** The minute in which it was admitted. */
  readonly minute: number
}

/** What a request used in the end. */
export interface Spent {
  readonly nanos: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** The epoch was a Thursday. */
const MONDAY = 3

/** Of what was admitted in none that counts. */
export const NO_MINUTE = -1

export const EMPTY_ACCOUNT: Account = {
  totalNanos: 0n,
  day: 0,
  dayNanos: 0n,
  weekNanos: 0n,
  monthNanos: 0n,
  minute: 0,
  minuteRequests: 0,
  minuteTokens: 0n,
  heldNanos: 0n,
  heldRequests: 0,
}

/** The UTC day of a time in milliseconds, counted from the epoch. */
export const dayOf = (time: number): number => Math.floor(time / DAY_MS)

/** The minute of a time in milliseconds, counted from the epoch. */
export const minuteOf = (time: number): number => Math.floor(time / MINUTE_MS)

/** When a minute begins, in milliseconds since the epoch. */
export const startOfMinute = (minute: number): number => minute * MINUTE_MS

/** When a day begins, in milliseconds since the epoch. */
export const startOfDay = (day: number): number => day * DAY_MS

/** The Monday of a day's week. */
export const weekOf = (day: number): number => Math.floor((day + MONDAY) / 7) * 7 - MONDAY

/** The first day of a day's month. */
export function monthOf(day: number): number {
  const date = new Date(startOfDay(day))
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()))
}

/**
 * An account as it counts at a time: what belongs to a period that is over is nothing. A clock that went back ends none, for as long as that
 * may be the difference of two clocks. One that was far ahead, and is right again, leaves what was spent where it is, in periods
 * that end when they should, and its minute is over: else no request would be admitted until the time that it had said.
 */
export function accountAt(account: Account, now: number): Account {
  const day = dayOf(now)
  const minute = minuteOf(now)
  if (account.day > day + 1) return accountAt({ ...account, day }, now)
  const newMinute = minute > account.minute || account.minute > minute + 1
  if (day <= account.day && !newMinute) return account
  return {
    ...account,
    ...(newMinute && { minute, minuteRequests: 0, minuteTokens: 0n }),
    ...(day > account.day && {
      day,
      dayNanos: 0n,
      weekNanos: weekOf(day) === weekOf(account.day) ? account.weekNanos : 0n,
      monthNanos: monthOf(day) === monthOf(account.day) ? account.monthNanos : 0n,
    }),
  }
}

/** What was spent in the present period of a limit. */
export function spentIn(account: Account, reset: LimitReset): bigint {
  switch (reset) {
    case 'never':
      return account.totalNanos
    case 'daily':
      return account.dayNanos
    case 'weekly':
      return account.weekNanos
    case 'monthly':
      return account.monthNanos
  }
}

/** The account once a request was admitted. */
export function holding(account: Account, hold: Hold, now: number): Account {
  const at = accountAt(account, now)
  return {
    ...at,
    minuteRequests: at.minuteRequests + 1,
    minuteTokens: at.minuteTokens + hold.inputTokens,
    heldNanos: at.heldNanos + hold.nanos,
    heldRequests: at.heldRequests + 1,
  }
}

/** The account as if a request had not been admitted: it was refused elsewhere. */
export function releasing(account: Account, hold: Hold, now: number): Account {
  const at = accountAt(account, now)
  const isNow = hold.minute === at.minute
  return {
    ...at,
    minuteRequests: at.minuteRequests - (isNow ? 1 : 0),
    minuteTokens: at.minuteTokens - (isNow ? hold.inputTokens : 0n),
    heldNanos: at.heldNanos - hold.nanos,
    heldRequests: at.heldRequests - 1,
  }
}

/** The account once a request has ended: what it held is free, and what it used counts. */
export function settling(account: Account, hold: Hold, spent: Spent, now: number): Account {
  const at = accountAt(account, now)
  // What the input was taken for is replaced while its minute lasts; output counts when it is known.
  const correction = hold.minute === at.minute ? spent.inputTokens - hold.inputTokens : 0n
  const tokens = at.minuteTokens + correction + spent.outputTokens
  return {
    ...at,
    totalNanos: at.totalNanos + spent.nanos,
    dayNanos: at.dayNanos + spent.nanos,
    weekNanos: at.weekNanos + spent.nanos,
    monthNanos: at.monthNanos + spent.nanos,
    minuteTokens: tokens > 0n ? tokens : 0n,
    heldNanos: at.heldNanos - hold.nanos,
    heldRequests: at.heldRequests - 1,
  }
}

/** The account once it is known that a request, which was settled, has used something else. */
export function correcting(account: Account, before: Spent, after: Spent, now: number): Account {
  const hold = { nanos: 0n, inputTokens: 0n, minute: NO_MINUTE }
  return settling({ ...account, heldRequests: account.heldRequests + 1 }, hold, difference(before, after), now)
}

/** What is counted after something else was. */
export function difference(before: Spent, after: Spent): Spent {
  return {
    nanos: after.nanos - before.nanos,
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
  }
}
