import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Calendar, daysBetween } from './calendar.ts'

const HOUR = 3_600_000

function calendarOf(timeZone: string): Calendar {
  const calendar = Calendar.of(timeZone)
  assert.ok(calendar)
  return calendar
}

/** How many quarters of an hour each date has, by asking for each of them. */
function quarters(timeZone: string, from: string, hours: number): Record<string, number> {
  const calendar = calendarOf(timeZone)
  const counts: Record<string, number> = {}
  for (let quarter = 0; quarter < hours * 4; quarter++) {
    const date = calendar.dateOf(Date.parse(from) + (quarter * HOUR) / 4)
    counts[date] = (counts[date] ?? 0) + 1
  }
  return counts
}

test('days have 23 and 25 hours where clocks are changed', () => {
  const spring = quarters('Europe/Berlin', '2026-03-28T23:00Z', 23 + 24)
  assert.deepEqual(spring, { '2026-03-29': 92, '2026-03-30': 96 })
  const autumn = quarters('Europe/Berlin', '2026-10-24T22:00Z', 25 + 24)
  assert.deepEqual(autumn, { '2026-10-25': 100, '2026-10-26': 96 })
})

test('days begin at a quarter of an hour where the zone does', () => {
  const calendar = calendarOf('Asia/Kathmandu')
  assert.equal(calendar.dateOf(Date.parse('2026-05-01T18:14:59.999Z')), '2026-05-01')
  assert.equal(calendar.dateOf(Date.parse('2026-05-01T18:15Z')), '2026-05-02')
  assert.equal(calendar.dateOf(Date.parse('2026-05-01T18:14Z')), '2026-05-01')
  assert.deepEqual(quarters('Australia/Lord_Howe', '2026-04-04T13:00Z', 24.5), { '2026-04-05': 98 })
})

test('clocks that were put back into the day before are followed', () => {
  const calendar = calendarOf('America/St_Johns')
  const dates = ['02:30:00', '02:30:59', '02:31:00', '03:29:59', '03:30:00'].map((time) =>
    calendar.dateOf(Date.parse(`2009-11-01T${time}Z`)),
  )
  assert.deepEqual(dates, ['2009-11-01', '2009-11-01', '2009-10-31', '2009-10-31', '2009-11-01'])
})

test('an unknown time zone is not one', () => {
  assert.equal(Calendar.of('Europe/Atlantis'), undefined)
  assert.equal(calendarOf('utc').dateOf(0), '1970-01-01')
})

test('days between two dates are counted over leap days and changes of clocks', () => {
  assert.equal(daysBetween('2028-02-28', '2028-03-01'), 2)
  assert.equal(daysBetween('2026-03-28', '2026-03-29'), 1)
})
