import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
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
  assert.equal(headers.authorization, 'hush', 'what was given has changed')
})

test('censors an error’s members besides its message, and leaves other values as they are', () => {
  const { lines, logger } = capture()
  const headers = { cookie: 'hush', accept: '*/*' }
  const error = Object.assign(new Error('refused'), { token: 'hush', headers, request: { token: 'seen' } })
  logger.warn({ err: error, list: [1, { token: 'seen' }], none: null, at: new Date(0) }, 'failed')
  logger.error(error)
  const [{ err, list, none, at }, again] = lines as [Record<string, unknown>, { err: Record<string, unknown> }]
  const { stack, ...shown } = err as Record<string, unknown>
  assert.match(String(stack), /refused/)
  assert.deepEqual(shown, {
    ...{ type: 'Error', message: 'refused', token: '***' },
    ...{ headers: { cookie: '***', accept: '*/*' }, request: { token: 'seen' } },
  })
  assert.deepEqual([list, none, at], [[1, { token: 'seen' }], null, '1970-01-01T00:00:00.000Z'])
  assert.equal(again.err.token, '***')
})

test('once a flush has ended all lines are written, in order', async () => {
  const program = `import { createLogger } from ${JSON.stringify(new URL('logging.ts', import.meta.url).href)}
    const logger = createLogger({ service: 'session', level: 'info' })
    for (let n = 0; n < 100; n++) logger.info({ n }, 'x'.repeat(2_000))
    logger.flush(() => process.kill(process.pid, 'SIGKILL'))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  await once(child, 'close')
  const lines = output.trimEnd().split('\n')
  const numbers = lines.map((line) => (JSON.parse(line) as { n: number }).n)
  assert.deepEqual(
    numbers,
    Array.from({ length: 100 }, (_, n) => n),
  )
})

test('a log on a full disk blocks nobody', { skip: !existsSync('/dev/full') }, async () => {
  const program = `import { createLogger } from ${JSON.stringify(new URL('logging.ts', import.meta.url).href)}
    const logger = createLogger({ service: 'session', level: 'info' })
    const timer = setInterval(() => logger.info('x'.repeat(2_000)), 1)
    setTimeout(() => process.stderr.write('still here', () => process.exit(7)), 200)`
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', full, 'pipe'] })
  const [[status], said] = await Promise.all([once(child, 'close'), text(child.stderr as Readable)])
  assert.deepEqual({ status, said }, { status: 7, said: 'still here' })
})
