import assert from 'node:assert/strict'
import test from 'node:test'
import pino from 'pino'
import { WrongKeys } from './wrong-keys.ts'

function open() {
  const log: string[] = []
  let now = 1_000_000
  const clock = { now: () => now, monotonic: () => now }
  const keys = new WrongKeys(clock, pino({}, { write: (line: string) => void log.push(line) }))
  const wrong = (address: string, times = 1): (number | undefined)[] =>
    Array.from({ length: times }, () => keys.add(address))
  const pass = (ms: number): void => {
    now += ms
  }
  return { keys, log, wrong, pass }
}

test('an address with 20 wrong keys within a minute has to wait until the first of them is a minute old', () => {
  const { wrong, pass } = open()
  assert.deepEqual(wrong('10.0.0.1', 10), Array(10).fill(undefined))
  pass(40_000)
  assert.deepEqual(wrong('10.0.0.1', 10), Array(10).fill(undefined))
  assert.deepEqual(wrong('10.0.0.1', 3), [20, 20, 20])
  pass(19_500)
  assert.deepEqual(wrong('10.0.0.1'), [1])
  pass(500)
  assert.deepEqual(wrong('10.0.0.1', 11), [...Array(10).fill(undefined), 40])
  assert.deepEqual(wrong('10.0.0.2'), [undefined], 'another address is another one')
})

test('logs wrong keys in one line a minute, without any key', () => {
  const { wrong, pass, log } = open()
  wrong('10.0.0.1', 50)
  wrong('10.0.0.2', 50)
  assert.equal(log.length, 1)
  assert.match(log[0] as string, /"address":"10\.0\.0\.1"/)
  pass(60_000)
  wrong('10.0.0.2', 50)
  assert.equal(log.length, 2)
})

test('a bounded number of addresses is remembered: the longest silent ones are forgotten', () => {
  const { keys, wrong } = open()
  wrong('10.0.0.1', 20)
  for (let i = 0; i < 9_999; i++) keys.add(`2001:db8:${i}::/64`)
  assert.deepEqual(wrong('10.0.0.1'), [60])
  for (let i = 0; i < 10_000; i++) keys.add(`2001:db9:${i}::/64`)
  assert.deepEqual(wrong('10.0.0.1'), [undefined])
})
