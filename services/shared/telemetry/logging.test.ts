import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger } from '#shared/telemetry/logging.ts'
import { withRequestId } from '#shared/telemetry/request-scope.ts'

function capture() {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  return { lines, logger: createLogger({ service: 'session', level: 'info', destination }) }
}

test('a line names the service, and inside a request its id, also after waiting', async () => {
  const { lines, logger } = capture()
  await withRequestId('req_1', async () => {
    await new Promise(setImmediate)
    logger.info({ a: 1 }, 'in')
  })
  logger.warn('out')
  logger.debug('too low')
  assert.ok(lines.every(({ time }) => typeof time === 'string'))
  const timeless = lines.map(({ time: _, ...rest }) => rest)
  assert.deepEqual(timeless, [
    { level: 'info', service: 'session', requestId: 'req_1', a: 1, msg: 'in' },
    { level: 'warn', service: 'session', msg: 'out' },
  ])
})

test('censors members named like secrets, at the top, one level down and among headers', () => {
  const { lines, logger } = capture()
  const headers = { authorization: 'hush', 'x-api-key': 'hush', cookie: 'hush', accept: '*/*' }
  logger.info({
    secret: 'hush',
    apiKey: 'hush',
    headers,
    req: { headers, token: 'hush' },
    config: { password: 'hush' },
  })
  const text = JSON.stringify(lines[0])
  assert.doesNotMatch(text, /hush/)
  assert.match(text, /\*\/\*/)
})
