import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type AuthenticateRequest,
  AuthenticateRequestSchema,
  type AuthenticateResponse,
  AuthenticateResponseSchema,
} from '#gen/portico/identity/v1/identity_service_pb.js'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'

const secret = 'secret-between-processes'

interface Running extends AsyncDisposable {
  readonly process: ChildProcess
  readonly url: URL
  readonly lines: string[]
}

async function startProcess(database: string): Promise<Running> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./main.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PORTICO_MONGODB_URI: mongoUri(),
      PORTICO_MONGODB_DATABASE: database,
      PORTICO_SERVICE_PORT: '0',
      PORTICO_INTERNAL_SECRET: secret,
      PORTICO_UNREADY_SECONDS: '0',
    },
  })
  const lines: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line))
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url === undefined) continue
    return {
      ...{ process: child, url: new URL(url), lines },
      async [Symbol.asyncDispose]() {
        if (child.exitCode !== null) return
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        await exit
      },
    }
  }
  return assert.fail(`The process ended: ${lines.join('\n')}`)
}

function authenticate(client: Client, key: string, metadata: Metadata): Promise<AuthenticateResponse> {
  const request = create(AuthenticateRequestSchema, { credential: { case: 'apiKey', value: key } })
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest<AuthenticateRequest, AuthenticateResponse>(
      '/portico.identity.v1.IdentityService/Authenticate',
      (message) => Buffer.from(toBinary(AuthenticateRequestSchema, message)),
      (bytes) => fromBinary(AuthenticateResponseSchema, bytes),
      request,
      metadata,
      (error, response) => (error === null && response !== undefined ? resolve(response) : reject(error)),
    )
  })
}

test('the process serves a stock gRPC client, shows its first keys once, and ends on SIGTERM', {
  skip: skipWithoutMongo,
}, async () => {
  const database = freshDatabaseName()
  await using stack = new AsyncDisposableStack()
  stack.defer(() => dropDatabase(database))
  let key = ''
  {
    await using first = await startProcess(database)
    key = / (sk-portico-\w{40})$/.exec(first.lines[1] ?? '')?.[1] ?? assert.fail(first.lines.join('\n'))
    assert.match(first.lines[0] ?? '', /^Management key, shown once: mk-portico-\w{40}$/)
    assert.match(first.lines[2] ?? '', /^Workspace, as PORTICO_PROJECT_ROOTS names it: wrk_\w+$/)
    assert.equal(first.lines.length, 3)
    const client = new Client(first.url.host, credentials.createInsecure())
    stack.defer(() => client.close())
    const metadata = new Metadata()
    metadata.set('portico-secret', secret)
    const { principal } = await authenticate(client, key, metadata)
    assert.equal(principal?.kind, Principal_Kind.WORKSPACE)
    await assert.rejects(authenticate(client, 'sk-portico-unknown', metadata), (error: ServiceError) => {
      assert.equal(error.code, 16)
      assert.equal(error.details, 'The credential is not valid')
      return true
    })
    await assert.rejects(authenticate(client, key, new Metadata()), (error: ServiceError) => error.code === 16)
    client.close()
    const exit = once(first.process, 'exit')
    first.process.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
  }
  await using second = await startProcess(database)
  assert.deepEqual(second.lines, [])
})
