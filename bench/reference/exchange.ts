// The reference for exchanges: bare node:http that parses the form, verifies the subject token and signs an access
// token with node:crypto, one after the other. No policy, no rate limit, no audit log.
import { createPrivateKey, createPublicKey, randomUUID, sign, verify } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

const { publicJwk, privateJwk } = JSON.parse(process.env.BENCH_KEYS ?? '')
const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' })
const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' })
const header = encode({ typ: 'at+jwt', alg: 'ES256', kid: 'bench' })
const TYPE = 'urn:ietf:params:oauth:token-type:access_token'

const server = createServer(async (request, response) => {
  const form = new URLSearchParams(await read(request))
  const [first = '', second = '', third = ''] = (form.get('subject_token') ?? '').split('.')
  const signature = Buffer.from(third, 'base64url')
  const isSigned = verify(
    'sha256',
    Buffer.from(`${first}.${second}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    signature,
  )
  const claims = JSON.parse(Buffer.from(second, 'base64url').toString())
  const now = Math.floor(Date.now() / 1000)
  if (!isSigned || claims.exp <= now) {
    response.writeHead(400).end()
    return
  }
  const iss = 'https://portico.example'
  const payload = encode({ iss, sub: claims.sub, iat: now, exp: now + 900, jti: randomUUID(), scope: 'inference' })
  const signed = sign('sha256', Buffer.from(`${header}.${payload}`), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const access_token = `${header}.${payload}.${signed.toString('base64url')}`
  const body = { access_token, issued_token_type: TYPE, token_type: 'Bearer', expires_in: 900, scope: 'inference' }
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body))
})

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('SIGTERM', () => process.exit())
