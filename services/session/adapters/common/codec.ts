import type { DurableEventData } from '#services/session/domain/event.ts'

// JSON knows no int64: money is a decimal text in what is stored. A member that was undefined is absent afterwards.

/** What happened, as text. */
export function encodeEvent(data: DurableEventData): string {
  if (data.type === 'step-ended') return JSON.stringify({ ...data, costNanos: data.costNanos.toString() })
  if (data.type !== 'session-created') return JSON.stringify(data)
  return JSON.stringify({ ...data, session: { ...data.session, costNanos: data.session.costNanos.toString() } })
}

/** Reads what `encodeEvent` wrote. */
export function decodeEvent(text: string): DurableEventData {
  const data = JSON.parse(text)
  if (data.type === 'step-ended') data.costNanos = BigInt(data.costNanos)
  if (data.type === 'session-created') data.session.costNanos = BigInt(data.session.costNanos)
  return data
}
