const NANOS = 1_000_000_000n

/**
 * US dollars in decimal digits, at most nine behind the point, as nano-dollars; undefined when the text is no such number.
 */
export function nanosOf(dollars: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(dollars) ?? []
  return whole === undefined ? undefined : BigInt(whole) * NANOS + BigInt(fraction.padEnd(9, '0'))
}

/** Nano-dollars as US dollars in decimal digits. */
export function dollarsOf(nanos: bigint): string {
  const fraction = (nanos % NANOS).toString().padStart(9, '0').replace(/0+$/, '')
  return `${nanos / NANOS}${fraction === '' ? '' : `.${fraction}`}`
}
