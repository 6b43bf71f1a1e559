import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import test from 'node:test'

const main = join(import.meta.dirname, 'main.ts')
const unreachable = 'http://127.0.0.1:9'
const env = {
  PATH: process.env.PATH,
  PORTICO_PORT: '0',
  PORTICO_INTERNAL_SECRET: 'secret-of-the-tests',
  PORTICO_UNREADY_SECONDS: '0',
  PORTICO_SESSION_URL: unreachable,
  PORTICO_CATALOG_URL: unreachable,
  PORTICO_INFERENCE_URL: unreachable,
  PORTICO_IDENTITY_URL: unreachable,
}

const start = (more: Record<string, string> = {}): ChildProcess =>
  spawn(process.execPath, [main], { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })

async function urlOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url !== undefined) return url
  }
  throw new Error('The process ended before it served')
}

async function failure(child: ChildProcess): Promise<[code: number, text: string]> {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  return [code, text]
}

test('without its peers the process lives, is not ready, and refuses with 503; a signal ends it cleanly', async () => {
  const child = start()
  const ended = once(child, 'close')
  try {
    const url = await urlOf(child)
    assert.equal((await fetch(`${url}/livez`)).status, 200)
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 503)
    const services = {
      identity: 'unavailable',
      catalog: 'unavailable',
      session: 'unavailable',
      inference: 'unavailable',
    }
    assert.deepEqual(await ready.json(), {
      status: 'unavailable',
      reason: 'identity or its store cannot be reached',
      services,
    })
    const session = await fetch(`${url}/api/session`)
    assert.equal(session.status, 503)
    const message = 'A service is unavailable'
    assert.deepEqual(await session.json(), { _tag: 'ServiceUnavailableError', message, service: 'identity' })
  } finally {
    child.kill('SIGTERM')
  }
  assert.deepEqual(await ended, [0, null])
})

test('settings that cannot be used are reported all at once, without a stack', async () => {
  const more = { PORTICO_HOST: '0.0.0.0', PORTICO_PORT: '99999', PORTICO_INTERNAL_SECRET: 'short' }
  const [code, text] = await failure(start(more))
  assert.equal(code, 1)
  for (const name of ['PORTICO_AUTH', 'PORTICO_PORT', 'PORTICO_INTERNAL_SECRET']) assert.match(text, new RegExp(name))
  assert.doesNotMatch(text, /at .*\.ts:/)
})

test('a port in use is one clear line that names the setting', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const [code, text] = await failure(start({ PORTICO_PORT: String(port) }))
  other.close()
  assert.equal(code, 1)
  assert.equal(text, `Port ${port} on 127.0.0.1 is in use: set PORTICO_PORT to another one\n`)
})
