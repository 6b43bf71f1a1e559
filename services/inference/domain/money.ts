const NANOS = 1_000_000_000n

/**
 * Converts US dollars in decimal digits, at most nine after the point, to nano-dollars; undefined if the text is not
 * such a number.
 */
export function nanosOf(dollars: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(dollars) ?? []
  return whole === undefined ? undefined : BigInt(whole) * NANOS + BigInt(fraction.padEnd(9, '0'))
}

/** Converts nano-dollars to US dollars in decimal digits. */
export function dollarsOf(nanos: bigint): string {
  const fraction = (nanos % NANOS).toString().padStart(9, '0').replace(/0+$/, '')
  return `${nanos / NANOS}${fraction === '' ? '' : `.${fraction}`}`
}
