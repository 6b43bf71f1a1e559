import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { serve } from '#shared/process/serve.ts'
import { createGrpcJsClient } from '#test/support/grpc-js.ts'
import { key, openSessionService } from '#test/support/session-service.ts'
import { silentLogger, testSecret } from '#test/support/transports.ts'

test('a stock grpc-js client creates a session, prompts it and follows its events', async () => {
  await using service = await openSessionService()
  const options = { host: '127.0.0.1', port: 0, secret: testSecret, logger: silentLogger }
  await using server = await serve({ ...options, routes: [service.routes] })
  using client = createGrpcJsClient(server.url, { principal: key })
  const { createSession, promptSession, streamEvents } = SessionService.method
  const { session } = await client.unary(createSession, { sessionId: 'ses_1', directory: '/project' })
  assert.equal(session?.directory, '/project')
  const names: (string | undefined)[] = []
  for await (const { message } of client.stream(streamEvents, {})) {
    if (message.case === 'connected') {
      await client.unary(promptSession, { sessionId: 'ses_1', messageId: 'msg_1', text: 'Hi' })
    }
    const name = message.case === 'event' ? message.value.event.case : message.case
    names.push(name)
    if (name === 'executionEnded') break
  }
  assert.deepEqual(names, [
    'connected',
    'inboxEnqueued',
    'executionStarted',
    'inboxDelivered',
    'stepStarted',
    'partStarted',
    'partExtended',
    'partEnded',
    'stepStreamed',
    'stepEnded',
    'executionEnded',
  ])
})
