import { randomFillSync } from 'node:crypto'
import type { Clock } from '#shared/clock.ts'

/** Prefixes of ids that contain their time of creation. */
export type TimedPrefix = 'ses' | 'msg' | 'evt' | 'per'

/** Prefixes of ids that are only random. */
export type RandomPrefix = 'org' | 'wrk' | 'key' | 'req' | 'call' | 'own' | 'sig' | 'iss'

/** Maximum length of an id that a client chooses, in characters. */
export const MAX_ID_LENGTH = 128

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_MASK = (1n << 56n) - 1n
let lastMilliseconds = 0
let counter = 0

/**
 * Makes an id: prefix, 14 hexadecimal digits of time (milliseconds × 4096 + counter; complemented for sessions, so that
 * the newest sorts first), 12 random characters. Nothing in Portico sorts by id; the order is for people.
 */
export function timedId(prefix: TimedPrefix, clock: Clock): string {
  const now = clock.now()
  counter = now === lastMilliseconds ? (counter + 1) & 0xfff : 0
  lastMilliseconds = now
  const ascending = BigInt(now) * 4096n + BigInt(counter)
  const time = prefix === 'ses' ? ~ascending & TIME_MASK : ascending & TIME_MASK
  return `${prefix}_${time.toString(16).padStart(14, '0')}${randomText(12)}`
}

/** Makes an id: prefix and 24 random characters (about 142 bits). */
export function randomId(prefix: RandomPrefix): string {
  return `${prefix}_${randomText(24)}`
}

/**
 * Makes a random text that begins with the time: 8 characters of milliseconds, the rest random. Rows whose keys were
 * made one after another are neighbours in an index, so that a commit that writes many of them writes few pages.
 */
export function timedText(length: number, clock: Clock): string {
  let time = ''
  for (let rest = clock.now(); time.length < 8; rest = Math.floor(rest / 62)) time = `${BASE62[rest % 62]}${time}`
  return time + randomText(length - time.length)
}

// Each call of the system costs 10 µs, however little it reads.
const pool = Buffer.alloc(4_096)
let used = pool.length

/** Random letters and digits, uniformly distributed, from the system's source of randomness. */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const byte = pool.readUInt8(used++)
    if (byte < 248) text += BASE62[byte % 62]
  }
  return text
}

/**
 * The form of an id that a client chose: the prefix and at most 128 characters, none of which is a control character or
 * half of a surrogate pair.
 */
export function idPattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}[^\\p{Cc}\\p{Cs}]{0,${MAX_ID_LENGTH - prefix.length}}$`, 'u')
}
