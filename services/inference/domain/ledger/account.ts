import { KeyTerms_Reset as Reset } from '#gen/portico/identity/v1/identity_pb.js'

/** What a key, or a workspace, has spent so far, and what its running requests hold. */
export interface Account {
  readonly totalNanos: bigint
  /** The UTC day, counted from the epoch, that the next three members refer to. */
  readonly day: number
  readonly dayNanos: bigint
  /** Since Monday of that week. */
  readonly weekNanos: bigint
  /** Since the first of that month. */
  readonly monthNanos: bigint
  /** The minute, counted from the epoch, that the next two members refer to. */
  readonly minute: number
  readonly minuteRequests: number
  readonly minuteTokens: bigint
  readonly heldNanos: bigint
  readonly heldRequests: number
}

/** What a request holds while it runs. */
export interface Hold {
  readonly nanos: bigint
  /** The estimate of its input. */
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

/** For a hold that counts in no minute. */
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

/** The date of a day, as YYYY-MM-DD. */
export const dateOf = (day: number): string => new Date(startOfDay(day)).toISOString().slice(0, 10)

/** The Monday of a day's week. */
export const weekOf = (day: number): number => Math.floor((day + MONDAY) / 7) * 7 - MONDAY

/** The first day of a day's month. */
export function monthOf(day: number): number {
  const date = new Date(startOfDay(day))
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()))
}

/**
 * An account as of a time: amounts of past periods become zero. A clock that went back slightly, as clocks of two
 * processes may differ, ends no period. After a clock that was far ahead is corrected, what was spent remains in its
 * periods, which end when they should, and the minute is over: otherwise no request would be admitted until the time
 * that the clock had shown.
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

/** What was spent in the current period of a limit; one that is unknown here never ends. */
export function spentIn(account: Account, reset: Reset | undefined): bigint {
  switch (reset) {
    case Reset.DAILY:
      return account.dayNanos
    case Reset.WEEKLY:
      return account.weekNanos
    case Reset.MONTHLY:
      return account.monthNanos
    default:
      return account.totalNanos
  }
}

/** The account after a request was admitted. */
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

/** The account as if a request had not been admitted, because it was refused elsewhere. */
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

/** The account after a request has ended: its hold is released, and what it used counts. */
export function settling(account: Account, hold: Hold, spent: Spent, now: number): Account {
  const at = accountAt(account, now)
  // The estimate of the input is corrected while its minute lasts; output counts when it is known.
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

/** The account after the usage of a settled request turned out to be different. */
export function correcting(account: Account, before: Spent, after: Spent, now: number): Account {
  const hold = { nanos: 0n, inputTokens: 0n, minute: NO_MINUTE }
  return settling({ ...account, heldRequests: account.heldRequests + 1 }, hold, difference(before, after), now)
}

/** What to count in addition to what was counted before. */
export function difference(before: Spent, after: Spent): Spent {
  return {
    nanos: after.nanos - before.nanos,
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
  }
}
