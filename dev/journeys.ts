// Prints how many files of the product each journey of data enters, by V8's coverage of a warm process. With --files it
// lists them. Usage: journeys.ts [--files]
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { newTokenKey, signToken } from '#test/support/subject-tokens.ts'

/** So many times each journey is made before it is counted. */
const WARM = 50
/** How often it is counted; the smallest number stands. */
const COUNTED = 5
const AUDIENCE = 'https://portico.example'
const root = new URL('..', import.meta.url).href

// Before any file of the product runs: V8 counts only calls of functions that it has instrumented.
const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

await using provider = await startStub(streams(fixture('openai-text.sse')))
await using portico = await openPortico({
  PORTICO_CONFIG: chatConfig(provider),
  PORTICO_EXCHANGES_PER_MINUTE: '1000000',
})
const [sessionId, parkedId] = [await createSession(), await createSession()]
const exchange = await prepareExchange()

const JOURNEYS: Readonly<Record<string, () => Promise<unknown>>> = {
  'GET session': () => json(`/api/session/${sessionId}`),
  'admission of a prompt': () => json(`/api/session/${parkedId}/prompt`, { text: 'Hello', resume: false }),
  'prompt with run and events': promptAndRun,
  'streamed chat': () =>
    json('/api/v1/chat/completions', {
      model: 'openai/gpt-5.5',
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  exchange,
}

for (const [name, journey] of Object.entries(JOURNEYS)) {
  for (let n = 0; n < WARM; n++) await journey()
  let files: string[] | undefined
  for (let n = 0; n < COUNTED; n++) {
    await takeFiles()
    await journey()
    const entered = await takeFiles()
    // Whatever else runs now and then in a process does not belong to the journey.
    if (files === undefined || entered.length < files.length) files = entered
  }
  process.stdout.write(`${name.padEnd(28)}${String(files?.length).padStart(4)} files\n`)
  if (process.argv.includes('--files')) process.stdout.write(`  ${files?.join('\n  ')}\n`)
}
await portico[Symbol.asyncDispose]()
process.exit()

/** The files of the product in which a function ran since the last call. */
async function takeFiles(): Promise<string[]> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url, functions }) => {
      const isProduct = url.startsWith(root) && /^(?:services|gateway)\//.test(url.slice(root.length))
      return (
        isProduct && functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
      )
    })
    .map(({ url }) => fileURLToPath(url).slice(fileURLToPath(root).length))
    .sort()
}

async function createSession(): Promise<string> {
  return (await json('/api/session', {})).data.id
}

async function promptAndRun(): Promise<void> {
  const end = new AbortController()
  const events = await fetch(`${portico.url}/api/event`, { signal: end.signal })
  await json(`/api/session/${sessionId}/prompt`, { text: 'Hello' })
  await json(`/api/session/${sessionId}/wait`, {})
  end.abort()
  await events.text().catch(() => {})
}

/** Registers an issuer and a policy, and returns what exchanges one of its tokens. */
async function prepareExchange(): Promise<() => Promise<unknown>> {
  const key = newTokenKey('ES256', 'k1')
  const { apiKeys } = await portico.identity.listApiKeys({ pageSize: 10 }, portico.operator)
  const workspaceKey = apiKeys.find(({ kind }) => kind === Principal_Kind.WORKSPACE)
  const at = `/api/v1/organizations/${portico.organizationId}`
  const issuer = { name: 'CI', issuer_url: 'https://ci.example', jwks: { keys: [key.jwk] } }
  const { data } = await json(`${at}/issuers`, issuer, PORTICO_KEYS.management)
  const policy = { name: 'Jobs', issuer_id: data.id, subject: 'job', audience: AUDIENCE, key_id: workspaceKey?.keyId }
  const { data: made } = await json(`${at}/policies`, policy, PORTICO_KEYS.management)
  return async () => {
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: 'https://ci.example', sub: 'job', aud: AUDIENCE, iat: now, exp: now + 600 }
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      federation_policy_id: made.id,
      subject_token: signToken(claims, key),
    }
    const response = await fetch(`${portico.url}/api/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    if (!response.ok) throw new Error(await response.text())
  }
}

/** Gets, or posts a body; fails unless that succeeds. */
async function json(path: string, body?: object, key = PORTICO_KEYS.api): Promise<{ data: { id: string } }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${portico.url}${path}`, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${text}`)
  return JSON.parse(text.startsWith('{') ? text : '{}')
}
