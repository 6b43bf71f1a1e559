import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FederationNetwork } from '#services/identity/domain/issuer-keys/address.ts'
import { makeCertificate, type TestCertificate } from './certificate.ts'
import { scratchDirectory } from './processes.ts'

/** An issuer's https server on the loopback. */
export interface TestIssuer extends AsyncDisposable {
  /** Its issuer URL, without a trailing slash. */
  readonly url: string
  readonly port: number
  /** The loopback networks, and the certificate of this server as an authority there. */
  readonly network: FederationNetwork
  /** Requests as they came. */
  readonly seen: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly httpVersion: string }[]
  /** How many connections were made to it. */
  readonly connections: number
  /** How many requests are still unanswered. */
  readonly open: number
  /** What it answers; a test may replace it. */
  answer: (path: string, response: ServerResponse) => unknown
}

/** Path of the key set of an issuer that answers with `publishes`. */
export const JWKS_PATH = '/keys'

/** Answers with JSON. */
export function json(response: ServerResponse, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** Answers like an issuer that publishes these keys, by discovery and at JWKS_PATH. `issuer`: its URL. */
export function publishes(issuer: string, keys: () => readonly object[]): TestIssuer['answer'] {
  return (path, response) => {
    const { origin } = new URL(issuer)
    if (path.endsWith('/.well-known/openid-configuration'))
      json(response, { issuer, jwks_uri: `${origin}${JWKS_PATH}` })
    else if (path === JWKS_PATH) json(response, { keys: keys() })
    else response.writeHead(404).end()
  }
}

/** Starts an issuer that answers 404 until a test says otherwise. */
export async function startIssuer(certificate: TestCertificate = makeCertificate()): Promise<TestIssuer> {
  const seen: TestIssuer['seen'] = []
  const folder = scratchDirectory()
  const caFile = join(folder.path, 'ca.pem')
  writeFileSync(caFile, certificate.cert)
  let [connections, open] = [0, 0]
  const server = createServer({ ...certificate, keepAlive: true }, async (request, response) => {
    const { url: path = '', headers, httpVersion } = request
    seen.push({ path, headers, httpVersion })
    open += 1
    response.once('close', () => {
      open -= 1
    })
    await issuer.answer(path, response)
  })
  server.on('secureConnection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const issuer: TestIssuer = {
    url: `https://127.0.0.1:${port}`,
    port,
    network: { networks: ['127.0.0.0/8', '::1/128'], caFile, hosts: {} },
    seen,
    get connections() {
      return connections
    },
    get open() {
      return open
    },
    answer: (_path, response) => response.writeHead(404).end(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      folder[Symbol.dispose]()
    },
  }
  return issuer
}
