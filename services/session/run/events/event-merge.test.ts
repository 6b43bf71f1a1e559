import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { VolatileEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import { durableEvent, TEXT_PART, wordEvent } from '#test/support/session-event.ts'
import { EventMerge } from './event-merge.ts'

const ref = (ordinal: number) => ({ ...TEXT_PART, ordinal })

/** What one session's step does: a durable event, or a word of a part. */
const act = fc.record({
  session: fc.constantFrom('ses_1', 'ses_2', 'ses_3'),
  ordinal: fc.nat(2),
  durable: fc.boolean(),
  /** Whether the log is read up to there now, and how many free events are taken. */
  reads: fc.boolean(),
  takes: fc.nat(3),
})

test('the words of a session arrive complete and in their place, however they are read', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const merge = new EventMerge()
      const seqs = new Map<string, number>()
      const expected = new Map<string, string>()
      const received = new Map<string, string>()
      const log: TailItem[] = []
      const note = (to: Map<string, string>, session: string, what: string): void =>
        void to.set(session, (to.get(session) ?? '') + what)
      const noteWord = ({ sessionId, event }: VolatileEvent): void => {
        if (event.case !== 'partExtended') return
        const { part, delta } = event.value
        for (const word of delta) note(received, sessionId, `${part?.ordinal}${word}`)
      }
      const readLog = (): void => {
        for (const item of log.splice(0)) {
          merge.takeBefore(item).forEach(noteWord)
          if (item.type === 'event') note(received, item.event.sessionId, `<${item.event.seq}>`)
        }
      }
      const takeFree = (most: number): void => {
        for (let i = 0; i < most; i++) {
          const event = merge.takeFree()
          if (event === undefined) return
          noteWord(event)
        }
      }
      for (const [i, { session, ordinal, durable, reads, takes }] of acts.entries()) {
        const seq = (seqs.get(session) ?? 0) + (durable ? 1 : 0)
        seqs.set(session, seq)
        if (durable) {
          const begun = { case: 'partStarted', value: { part: ref(ordinal) } } as const
          log.push({ type: 'event', event: durableEvent(seq, begun, { sessionId: session }) })
          note(expected, session, `<${seq}>`)
        } else {
          const word = String.fromCharCode(97 + (i % 26))
          merge.add(wordEvent(seq, word, session, ref(ordinal)), seq > 0)
          note(expected, session, `${ordinal}${word}`)
        }
        if (reads) readLog()
        takeFree(takes)
      }
      readLog()
      takeFree(Number.POSITIVE_INFINITY)
      assert.deepEqual(received, expected)
      assert.deepEqual([merge.size, merge.characters], [0, 0])
    }),
    { numRuns: 2_000 },
  )
})

test('adding a word takes no longer when many sessions wait', () => {
  const merge = new EventMerge()
  let looks = 0
  const word = (session: number): VolatileEvent => ({
    ...wordEvent(1, 'x'),
    get sessionId() {
      looks++
      return `ses_${session}`
    },
  })
  for (let session = 0; session < 1_000; session++) merge.add(word(session), true)
  looks = 0
  for (let i = 0; i < 1_000; i++) merge.add(word(0), true)
  assert.ok(looks <= 10_000, `${looks} looks`)
  assert.deepEqual([merge.size, merge.characters], [1_000, 2_000])
})
