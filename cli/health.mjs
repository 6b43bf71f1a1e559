// Checks whether a process is healthy: exit code 0 or 1, and one line with the reason if it is not. For containers,
// which have no other client. Usage: health.mjs [http://HOST:PORT/readyz | grpc://HOST:PORT] Default: the single
// process, or the gateway, of this container. JavaScript, so that the machine's own Node (20 or later) can run it,
// without npm.
import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'

/** Shorter than the time that orchestrators give a check, in milliseconds. */
const PATIENCE_MS = 4_000

const late = setTimeout(() => {
  process.stdout.write(`No answer within ${PATIENCE_MS} ms\n`)
  process.exit(1)
}, PATIENCE_MS)
try {
  const url = process.argv[2] ?? `http://127.0.0.1:${process.env.PORTICO_PORT || 4096}/readyz`
  const { healthy, answer } = url.startsWith('grpc:') ? await askService(url) : await askGateway(url)
  process.stdout.write(`${answer}\n`)
  process.exitCode = healthy ? 0 : 1
} catch (error) {
  process.stdout.write(`No answer: ${error instanceof Error ? (error.cause ?? error.message) : error}\n`)
  process.exitCode = 1
}
clearTimeout(late)

async function askGateway(url) {
  const response = await fetch(url)
  return { healthy: response.ok, answer: await response.text() }
}

/** Calls grpc.health.v1 in JSON with the Connect protocol, which the same port supports. */
async function askService(url) {
  const session = connect(url.replace(/^grpc:/, 'http:'))
  try {
    const headers = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/json' }
    const answer = await new Promise((resolve, reject) => {
      session.once('error', reject)
      const request = session.request(headers)
      request.once('error', reject)
      text(request).then(resolve, reject)
      request.end('{}')
    })
    return { healthy: /"status":"SERVING"/.test(answer), answer }
  } finally {
    session.close()
  }
}
