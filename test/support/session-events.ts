import type { Portico } from '#test/support/portico.ts'
import { openStream, readUntil } from './event-stream.ts'

/** An event of a session as `GET /api/event` sends it, without what differs in each run. */
export interface WireEvent {
  readonly type: string
  readonly directory: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Does something, and returns the events of a session from then on, up to the first of that type. */
export async function eventsDuring(
  portico: Portico,
  sessionId: string,
  last: string,
  work: () => Promise<unknown>,
): Promise<WireEvent[]> {
  const stream = await openStream(`${portico.url}/api/event`)
  await work()
  const text = await readUntil(stream, (text) => parse(text, sessionId).some(({ type }) => type === last))
  stream.destroy()
  const events = parse(text, sessionId)
  return events.slice(0, events.findIndex(({ type }) => type === last) + 1)
}

function parse(text: string, sessionId: string): WireEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((frame) => {
      const line = frame.split('\n').find((line) => line.startsWith('data: '))
      const { type, location, data } = JSON.parse(line?.slice(6) ?? '{"data":{}}')
      if (data.sessionID !== sessionId) return []
      const { sessionID: _, ...rest } = data
      return [{ type, directory: location.directory, data: rest }]
    })
}
