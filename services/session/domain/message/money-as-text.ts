/**
 * A message with its money as text, since JSON has no int64. A replacer for JSON.stringify would take twice as long.
 */
export function moneyAsText<T>(message: T): T | (Omit<T, 'costNanos'> & { readonly costNanos: string }) {
  if (typeof message !== 'object' || message === null) return message
  const { costNanos } = message as { readonly costNanos?: unknown }
  return typeof costNanos === 'bigint' ? { ...message, costNanos: costNanos.toString() } : message
}
