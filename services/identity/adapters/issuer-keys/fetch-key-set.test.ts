import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { IssuerSettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { FederationNetwork } from '#services/identity/domain/issuer-keys/address.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { JWKS_PATH, json, publishes, startIssuer, type TestIssuer } from '#test/support/https-issuer.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'
import type { DestinationRules } from './destination.ts'
import { fetchKeySet } from './fetch-key-set.ts'
import { Networks } from './networks.ts'

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one' }
type KeySource = IssuerSettings['keySource']
const discovery: KeySource = { case: undefined }

const rulesOf = (networks: readonly FederationNetwork[], rest: Partial<DestinationRules> = {}): DestinationRules => {
  const loopback = async () => ['127.0.0.1']
  const own = { ownOrigin: 'https://portico.example' }
  return { networks: new Networks(networks), resolveByDns: loopback, resolveBySystem: loopback, ...own, ...rest }
}

function fetched(
  { url, network }: Pick<TestIssuer, 'url' | 'network'>,
  options: { source?: KeySource; rules?: DestinationRules; signal?: AbortSignal } = {},
) {
  const { source = discovery, rules = rulesOf([network]), signal = new AbortController().signal } = options
  return fetchKeySet({ issuerUrl: url, keySource: source }, rules, signal)
}

/** The problem of a failed fetch. */
async function problemOf(fetching: Promise<unknown>): Promise<string> {
  const error = await fetching.then(
    () => assert.fail('It was fetched'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Error && error.name === 'FetchProblem', String(error))
  return error.message
}

const kidsOf = async (fetching: ReturnType<typeof fetched>) => (await fetching).set.keys.map(({ kid }) => kid)

test('keys are found by discovery below the path of the issuer, one slash between, or at a URL', async () => {
  await using issuer = await startIssuer()
  for (const [path, asked] of [
    ['', '/.well-known/openid-configuration'],
    ['/', '/.well-known/openid-configuration'],
    ['/tenant/v2.0', '/tenant/v2.0/.well-known/openid-configuration'],
    ['/tenant/v2.0/', '/tenant/v2.0/.well-known/openid-configuration'],
  ]) {
    issuer.seen.length = 0
    const url = `${issuer.url}${path}`
    issuer.answer = publishes(url, () => [key])
    assert.deepEqual(await kidsOf(fetched({ ...issuer, url })), ['one'])
    assert.deepEqual(
      issuer.seen.map((request) => request.path),
      [asked, JWKS_PATH],
    )
  }
  issuer.seen.length = 0
  const source: KeySource = { case: 'jwksUrl', value: `${issuer.url}${JWKS_PATH}?version=1` }
  issuer.answer = (_path, response) => json(response, { keys: [key] })
  assert.deepEqual(await kidsOf(fetched(issuer, { source })), ['one'])
  assert.deepEqual(
    issuer.seen.map(({ path }) => path),
    [`${JWKS_PATH}?version=1`],
  )
  for (const { headers, httpVersion } of issuer.seen) {
    assert.equal(httpVersion, '1.1')
    assert.deepEqual(Object.keys(headers).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
  }
})

test('our own origin is never fetched from, even if it was another one when the issuer was saved', async () => {
  await using issuer = await startIssuer()
  issuer.answer = publishes(issuer.url, () => [key])
  const rules = rulesOf([issuer.network], { ownOrigin: issuer.url })
  for (const source of [discovery, { case: 'jwksUrl', value: `${issuer.url}${JWKS_PATH}` } as const]) {
    assert.match(await problemOf(fetched(issuer, { source, rules })), /must not be an address of this server/)
  }
  assert.deepEqual(issuer.seen, [])
})

test('the discovery document names the issuer exactly, and a key set at an allowed address', async () => {
  await using issuer = await startIssuer()
  await using other = await startIssuer()
  const says = (document: unknown) => {
    issuer.answer = (_path, response) => json(response, document)
    return problemOf(fetched(issuer))
  }
  const jwks_uri = `${issuer.url}${JWKS_PATH}`
  for (const named of [
    `${issuer.url}/`,
    issuer.url.toUpperCase(),
    'https://issuer.example',
    '',
    null,
    undefined,
    [issuer.url],
  ]) {
    assert.match(await says({ issuer: named, jwks_uri }), /document of another issuer/)
  }
  for (const document of [null, [], 'issuer', 5]) assert.match(await says(document), /document of another issuer/)
  for (const uri of [undefined, null, 5, [jwks_uri]])
    assert.match(await says({ issuer: issuer.url, jwks_uri: uri }), /no jwks_uri/)
  for (const [uri, problem] of [
    [`http://127.0.0.1:${issuer.port}/keys`, /must begin with https/],
    [`https://u:p@127.0.0.1:${issuer.port}/keys`, /user name/],
    [`https://127.1:${issuer.port}/keys`, /plainly/],
    [`https://10.0.0.1:${issuer.port}/keys`, /not an IP address/],
    ['file:///etc/passwd', /must begin with https/],
    ['https://portico.example/api/v1/oauth/keys', /must not be an address of this server/],
    ['', /must begin with https/],
  ] as const) {
    assert.match(await says({ issuer: issuer.url, jwks_uri: uri }), problem)
  }
  assert.equal(issuer.seen.filter(({ path }) => path === JWKS_PATH).length, 0)
  // Another host is allowed, as with well-known issuers.
  other.answer = (_path, response) => json(response, { keys: [key] })
  issuer.answer = (_path, response) => json(response, { issuer: issuer.url, jwks_uri: `${other.url}/keys` })
  const rules = rulesOf([{ ...issuer.network, caFile: undefined }])
  assert.match(await problemOf(fetched(issuer, { rules })), /cannot be reached \(DEPTH_ZERO_SELF_SIGNED_CERT\)/)
})

test('a saved address is checked again when it is fetched: the settings may permit less by then', async () => {
  await using issuer = await startIssuer()
  issuer.answer = publishes(issuer.url, () => [key])
  assert.match(await problemOf(fetched(issuer, { rules: rulesOf([]) })), /not an IP address/)
  const url = `https://localhost:${issuer.port}`
  assert.match(await problemOf(fetched({ ...issuer, url }, { rules: rulesOf([]) })), /port 443/)
  assert.equal(issuer.connections, 0)
})

test('a discovery document of more than 64 KB, or a key set of more than 256 KB, is cut off on arrival', async () => {
  await using issuer = await startIssuer()
  let sent = 0
  const endless: TestIssuer['answer'] = (_path, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(16_384))) sent += 16_384
    }
    response.on('drain', more)
    more()
  }
  const source: KeySource = { case: 'jwksUrl', value: `${issuer.url}${JWKS_PATH}` }
  issuer.answer = endless
  assert.match(await problemOf(fetched(issuer)), /more than 64 KB/)
  assert.match(await problemOf(fetched(issuer, { source })), /more than 256 KB/)
  await waitFor('both connections are closed', () => issuer.open === 0)
  // What is in the buffers between them was sent as well.
  assert.ok(sent < 32 * 1_024 * 1_024, `${sent} bytes were sent`)
  issuer.answer = (_path, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 262_145 }).flushHeaders()
  }
  assert.match(await problemOf(fetched(issuer, { source })), /more than 256 KB/)
  await waitFor('the connection is closed', () => issuer.open === 0)
  for (const length of [262_144, 262_145]) {
    const text = JSON.stringify({ keys: [key] })
    issuer.answer = (_path, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(text.padEnd(length))
    }
    const fetching = fetched(issuer, { source })
    if (length === 262_144) assert.deepEqual(await kidsOf(fetching), ['one'])
    else assert.match(await problemOf(fetching), /more than 256 KB/)
  }
})

test('a compressed answer is refused, since it may be far longer than it looks', async () => {
  await using issuer = await startIssuer()
  for (const encoding of ['gzip', 'br', 'identity, gzip']) {
    issuer.answer = (_path, response) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
      response.writeHead(200, headers).end(gzipSync('{}'))
    }
    assert.match(await problemOf(fetched(issuer)), /compressed/)
  }
  issuer.answer = publishes(issuer.url, () => [key])
  await fetched(issuer)
  assert.ok(issuer.seen.every(({ headers }) => headers['accept-encoding'] === 'identity'))
})

test('a fetch is given up at its deadline when the endpoint hangs before, in or after its head, or sends byte by byte', async () => {
  await using issuer = await startIssuer()
  const head = { 'content-type': 'application/json' }
  const reasons = new Map<string, TestIssuer['answer']>([
    ['never answers', () => {}],
    ['hangs after its head', (_path, response) => response.writeHead(200, head).flushHeaders()],
    ['hangs in its body', (_path, response) => response.writeHead(200, head).write('{"issuer":')],
    [
      'drips',
      (_path, response) => {
        response.writeHead(200, head)
        const drip = setInterval(() => response.write(' '), 5)
        response.once('close', () => clearInterval(drip))
      },
    ],
  ])
  for (const [name, answer] of reasons) {
    issuer.answer = answer
    const leaving = new AbortController()
    const fetching = fetched(issuer, { signal: leaving.signal })
    fetching.catch(() => {})
    await waitFor(`a request that ${name}`, () => issuer.open === 1)
    const reason = new Error('the time is over')
    leaving.abort(reason)
    await assert.rejects(fetching, reason)
    await waitFor('the connection is closed', () => issuer.open === 0)
  }
})

test('a server that accepts and stays silent, without even TLS, is left as well', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.resume()
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const leaving = new AbortController()
  const network: FederationNetwork = { networks: ['127.0.0.0/8'], hosts: {} }
  const fetching = fetched({ url, network }, { signal: leaving.signal })
  fetching.catch(() => {})
  await waitFor('a connection', () => sockets.size === 1)
  leaving.abort(new Error('the time is over'))
  await assert.rejects(fetching, /the time is over/)
  await waitFor('the connection is closed', () => sockets.size === 0)
  silent.close()
})

test('redirects are not followed, and only status 200 is an answer', async () => {
  await using issuer = await startIssuer()
  await using target = await startIssuer()
  for (const status of [301, 302, 303, 307, 308, 201, 204, 206, 304, 400, 401, 404, 500, 503]) {
    issuer.answer = (_path, response) => response.writeHead(status, { location: `${target.url}/keys` }).end()
    assert.match(await problemOf(fetched(issuer)), new RegExp(`responded with status ${status}$`))
  }
  assert.equal(target.connections, 0)
})

test('an answer has a content type of JSON, and is JSON in UTF-8', async () => {
  await using issuer = await startIssuer()
  const source: KeySource = { case: 'jwksUrl', value: `${issuer.url}${JWKS_PATH}` }
  const text = JSON.stringify({ keys: [key] })
  const says = (type: string | undefined, body: string | Buffer = text) => {
    issuer.answer = (_path, response) =>
      response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(body)
    return fetched(issuer, { source })
  }
  for (const type of [
    'application/json',
    'application/jwk-set+json',
    'Application/JSON; charset=utf-8',
    'application/a.b+json',
  ]) {
    assert.deepEqual(await kidsOf(says(type)), ['one'])
  }
  for (const type of [
    undefined,
    '',
    'text/html',
    'text/plain',
    'application/octet-stream',
    'application/jsonp',
    'x/json',
  ]) {
    assert.match(await problemOf(says(type)), /a content type other than JSON/)
  }
  for (const body of ['', '{', `${text}x`, Buffer.from(`{"keys":[],"a":"\xff"}`, 'latin1')]) {
    assert.match(await problemOf(says('application/json', body)), /something other than JSON/)
  }
  for (const body of ['[]', '{"keys":5}', '"secret"', `${'['.repeat(100_000)}${']'.repeat(100_000)}`]) {
    const problem = await problemOf(says('application/json', body))
    assert.match(problem, /the key set has no list of keys/)
    assert.doesNotMatch(problem, /secret/)
  }
})

test('the last of several members with the same name counts (RFC 7517 section 4)', async () => {
  await using issuer = await startIssuer()
  const { kid, ...nameless } = key
  const twice = (members: object) =>
    JSON.stringify(nameless).replace('{', `{"kid":"first",${JSON.stringify(members).slice(1, -1)},`)
  const texts: Record<string, string> = {
    '/.well-known/openid-configuration': `{"issuer":"${issuer.url}","jwks_uri":"https://10.0.0.1/","jwks_uri":"${issuer.url}/keys"}`,
    [JWKS_PATH]: `{"keys":5,"keys":[${twice({ kid })}]}`,
  }
  issuer.answer = (path, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(texts[path])
  assert.deepEqual(await kidsOf(fetched(issuer)), ['one'])
})

test('cache-control determines how long keys may be kept', async () => {
  await using issuer = await startIssuer()
  const source: KeySource = { case: 'jwksUrl', value: `${issuer.url}${JWKS_PATH}` }
  for (const [value, seconds] of [
    ['public, max-age=300', 300],
    ['max-age="20"', 20],
    ['Max-Age = 7', 7],
    ['no-store', 0],
    ['max-age=300, no-cache', 0],
    ['s-maxage=5', undefined],
    ['x-max-age=5', undefined],
    ['max-age=-5', undefined],
    ['', undefined],
  ] as const) {
    issuer.answer = (_path, response) => json(response, { keys: [key] }, { 'cache-control': value })
    assert.equal((await fetched(issuer, { source })).maxAgeSeconds, seconds, value)
  }
})

test('a request connects to the address that was checked: its name is resolved once', async () => {
  await using issuer = await startIssuer()
  const url = `https://localhost:${issuer.port}`
  issuer.answer = publishes(url, () => [key])
  // Resolves to a permitted address for the check, and to another one for the connection.
  let asked = 0
  const resolveByDns = async () => [asked++ % 2 === 0 ? '127.0.0.1' : '192.0.2.1']
  const problem = await problemOf(fetched({ ...issuer, url }, { rules: rulesOf([issuer.network], { resolveByDns }) }))
  assert.match(problem, /localhost:\d+ has an address that issuers may not have/)
  assert.deepEqual([asked, issuer.seen.length], [2, 1])
  // The system would resolve it to 127.0.0.1, but is not used.
  const nowhere = rulesOf([issuer.network], { resolveByDns: async () => ['::1'] })
  assert.match(await problemOf(fetched({ ...issuer, url }, { rules: nowhere })), /cannot be reached \(E[A-Z]+\)/)
  assert.equal(issuer.seen.length, 1)
})

test('one that responds of several checked addresses is used', async () => {
  await using issuer = await startIssuer()
  const url = `https://localhost:${issuer.port}`
  issuer.answer = publishes(url, () => [key])
  const rules = rulesOf([issuer.network], { resolveByDns: async () => ['::1', '127.0.0.1'] })
  assert.deepEqual(await kidsOf(fetched({ ...issuer, url }, { rules })), ['one'])
})

test('each request has a connection of its own', async () => {
  await using issuer = await startIssuer()
  issuer.answer = publishes(issuer.url, () => [key])
  await fetched(issuer)
  await fetched(issuer)
  assert.deepEqual([issuer.seen.length, issuer.connections], [4, 4])
})

test('a certificate has to be valid for the host, by the network’s authority, whatever the environment says', async () => {
  await using issuer = await startIssuer(makeCertificate(['issuer.example']))
  await using other = await startIssuer()
  issuer.answer = publishes(issuer.url, () => [key])
  assert.match(await problemOf(fetched(issuer)), /ERR_TLS_CERT_ALTNAME_INVALID/)
  const foreign = rulesOf([{ ...issuer.network, caFile: other.network.caFile }])
  assert.match(await problemOf(fetched(issuer, { rules: foreign })), /cannot be reached \(\w*SELF_SIGNED\w*\)/)
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    assert.match(await problemOf(fetched(issuer)), /ERR_TLS_CERT_ALTNAME_INVALID/)
    assert.match(await problemOf(fetched(issuer, { rules: foreign })), /SELF_SIGNED/)
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  }
  assert.equal(issuer.seen.length, 0)
})

test('no proxy of the environment is used', async () => {
  await using issuer = await startIssuer()
  let asked = 0
  const proxy = createServer((socket) => {
    asked += 1
    socket.destroy()
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  issuer.answer = (_path, response) => json(response, { keys: [key] })
  const code = `
    import { request } from 'node:https'
    const { fetchKeySet } = await import(${JSON.stringify(new URL('./fetch-key-set.ts', import.meta.url))})
    const { Networks } = await import(${JSON.stringify(new URL('./networks.ts', import.meta.url))})
    const rules = { networks: new Networks([${JSON.stringify(issuer.network)}]) }
    const url = ${JSON.stringify(`${issuer.url}${JWKS_PATH}`)}
    const fetched = await fetchKeySet({ issuerUrl: url, keySource: { case: 'jwksUrl', value: url } }, rules, new AbortController().signal)
    console.log(fetched.set.keys.length)
    // Other code in this process does use it.
    request(url).on('error', () => {}).end()
  `
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: address, https_proxy: address, NO_PROXY: '' }
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code]
  const { stdout } = await promisify(execFile)(process.execPath, words, {
    env,
    cwd: new URL('../../../..', import.meta.url),
  })
  proxy.close()
  assert.deepEqual([stdout.trim(), issuer.seen.length, asked], ['1', 1, 1])
})

test('the token in a file is sent only to its host and the two paths of a Kubernetes API server, and is read each time', async () => {
  await using issuer = await startIssuer()
  using folder = scratchDirectory()
  const tokenFile = join(folder.path, 'token')
  const host = new URL(issuer.url).host
  const tokens = async (path: string, hosts: FederationNetwork['hosts'], url = issuer.url) => {
    issuer.seen.length = 0
    issuer.answer = (_path, response) => json(response, { issuer: url, jwks_uri: `${url}${path}`, keys: [key] })
    const rules = rulesOf([{ ...issuer.network, hosts }])
    await fetched({ ...issuer, url }, { rules })
    return issuer.seen.map(({ headers }) => headers.authorization)
  }
  for (const token of ['first', 'second']) {
    writeFileSync(tokenFile, `${token}\n`)
    const sent = `Bearer ${token}`
    assert.deepEqual(await tokens('/openid/v1/jwks', { [host]: { tokenFile } }), [sent, sent])
    assert.deepEqual(await tokens('/api/v1/secrets', { [host]: { tokenFile } }), [sent, undefined])
  }
  const nobody = [undefined, undefined]
  assert.deepEqual(await tokens('/openid/v1/jwks', { [host]: {} }), nobody)
  assert.deepEqual(await tokens('/openid/v1/jwks', { 'localhost:1': { tokenFile } }), nobody)
  const byName = `https://localhost:${issuer.port}`
  assert.deepEqual(await tokens('/openid/v1/jwks', { [host]: { tokenFile } }, byName), nobody)
  const gone = rulesOf([{ ...issuer.network, hosts: { [host]: { tokenFile: join(folder.path, 'none') } } }])
  const problem = await problemOf(fetched(issuer, { rules: gone }))
  assert.match(problem, /a file of PORTICO_FEDERATION_NETWORKS cannot be read \(ENOENT\)/)
  assert.doesNotMatch(problem, /none/)
})

test('an endpoint that switches protocols is left at once', async () => {
  await using issuer = await startIssuer()
  issuer.answer = (_path, response) =>
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
  await assert.rejects(fetched(issuer), /responded with status 101/)
  await waitFor('the connection is closed', () => issuer.open === 0)
})
