import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { readConfig } from './config.ts'

test('unset settings have their defaults', () => {
  const config = readConfig({ PORTICO_DATA_DIR: '/data' })
  assert.deepEqual(config, {
    store: { kind: 'sqlite', directory: '/data' },
    ...{ maxRuns: 64, leaseMs: 15_000, autoResume: true },
    ...{ permissionTimeoutMs: 300_000, compactionPercent: 80, eventRetentionMs: 7 * 86_400_000 },
    ...{ taskDepth: 5, taskTimeoutMs: 3_600_000 },
  })
})

test('PORTICO_SESSION_AUTO_RESUME turns automatic resumption on and off', () => {
  for (const [value, on] of [
    ['on', true],
    ['true', true],
    ['off', false],
    ['false', false],
    ['0', false],
  ] as const) {
    assert.equal(readConfig({ PORTICO_SESSION_AUTO_RESUME: value }).autoResume, on)
  }
})

test('settings are read, in seconds and days', () => {
  const config = readConfig({
    PORTICO_DATA_DIR: '/data',
    PORTICO_SESSION_MAX_RUNS: '2',
    PORTICO_SESSION_LEASE_SECONDS: '3',
    PORTICO_SESSION_AUTO_RESUME: 'off',
    PORTICO_COMPACTION_PERCENT: '40',
    PORTICO_PERMISSION_TIMEOUT: '4',
    PORTICO_TASK_DEPTH: '0',
    PORTICO_TASK_TIMEOUT: '5',
    PORTICO_EVENT_DAYS: '6',
  })
  assert.deepEqual(config, {
    store: { kind: 'sqlite', directory: '/data' },
    ...{ maxRuns: 2, leaseMs: 3_000, autoResume: false },
    ...{ permissionTimeoutMs: 4_000, compactionPercent: 40, eventRetentionMs: 6 * 86_400_000 },
    ...{ taskDepth: 0, taskTimeoutMs: 5_000 },
  })
})

test('every problem is reported at once', () => {
  const bad = {
    PORTICO_SESSION_MAX_RUNS: '0',
    PORTICO_SESSION_LEASE_SECONDS: 'soon',
    PORTICO_PERMISSION_TIMEOUT: '1e3',
  }
  assert.throws(
    () => readConfig(bad),
    (error) => error instanceof ConfigError && error.problems.length === 3,
  )
})
