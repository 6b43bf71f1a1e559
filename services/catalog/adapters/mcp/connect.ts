import { resolve } from 'node:path'
import { Client, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import type { McpTarget } from '#services/catalog/domain/mcp/server-entry.ts'
import type { ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'
import { quote, type StartCommand } from '../commands/command.ts'
import { callTool, isRequestTimeout, type ToolCall } from './call-tool.ts'
import { HttpTransport } from './http-transport.ts'
import { listTools, type ServerTools } from './list-tools.ts'
import { StdioTransport } from './stdio-transport.ts'

/** A server that was initialized. */
export interface Connection {
  /** Resolves with the reason when the connection is closed, by whichever side. */
  readonly closed: Promise<string>
  /** Lists its tools; throws an error that explains to people what is wrong. */
  list(signal: AbortSignal, timeoutMs: number): Promise<ServerTools>
  call(call: ToolCall): Promise<ToolOutcome>
  /** Resolves when nothing of the server is left. */
  close(): Promise<void>
}

/** What a connection is made with. */
export interface ConnectOptions {
  /** Called, any number of times, when the server reports that its tools have changed. */
  readonly onToolsChanged: () => void
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** How servers are started and reached. */
export interface ConnectMeans {
  readonly start: StartCommand
  readonly shell: string
  /** The whole environment of a local server, besides what its entry adds. */
  readonly environment: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
}

const CLIENT = { name: 'portico', version: '1' }
/** For the response to a ping after a call that took too long. */
const PING_MS = 5_000

/** A server requires authorization. */
export class AuthorizationNeeded extends Error {
  override readonly name = 'AuthorizationNeeded'
}

/**
 * Starts a local server in a directory, or connects to a remote one, and initializes it. A server that does not answer
 * a ping after a call that took too long is closed. Throws AuthorizationNeeded, or an error that explains to people
 * what is wrong; then nothing of it is left.
 */
export async function connect(
  target: McpTarget,
  directory: string,
  means: ConnectMeans,
  { signal, timeoutMs, onToolsChanged }: ConnectOptions,
): Promise<Connection> {
  const transport = await transportTo(target, directory, means)
  // No capability is offered, so what a server may request by the protocol is refused.
  const client = new Client(CLIENT, { jsonSchemaValidator: { getValidator: () => refuseToValidate } })
  const closed = Promise.withResolvers<string>()
  const onClose = (): void => closed.resolve(transport.why)
  client.onclose = onClose
  // What the server printed at its end says more than that it has ended.
  const explained = (error: unknown): unknown => {
    if (transport.why !== 'it was closed') return new Error(transport.why)
    const isMalformed = error instanceof SdkError && error.code === SdkErrorCode.InvalidResult
    return isMalformed ? new Error('It answered with something else than the protocol has', { cause: error }) : error
  }
  client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged)
  try {
    await client.connect(transport, { signal, timeout: timeoutMs })
  } catch (error) {
    await transport.close()
    if (!(error instanceof SdkHttpError)) throw explained(error)
    const { status, message } = error
    if (status !== 401) throw new Error(`It answered with status ${status}: ${message}`, { cause: error })
    throw new AuthorizationNeeded('The server asks for authorization: give it a token in `headers`')
  }
  const endIfHung = async (timeoutMs: number): Promise<void> => {
    await client.ping({ timeout: Math.min(timeoutMs, PING_MS) }).catch((error: unknown) => {
      if (isRequestTimeout(error)) return transport.end('it does not answer')
    })
  }
  return {
    closed: closed.promise,
    list: (signal, timeoutMs) =>
      listTools(client, signal, timeoutMs).catch((error: unknown) => {
        throw explained(error)
      }),
    async call(call) {
      const outcome = await callTool(client, call)
      if (outcome.case === 'failed' && outcome.value.type === 'timeout') void endIfHung(call.timeoutMs)
      return outcome
    },
    close: () => transport.close(),
  }
}

async function transportTo(
  target: McpTarget,
  directory: string,
  { start, shell, environment, dispatcher }: ConnectMeans,
): Promise<StdioTransport | HttpTransport> {
  if (target.type === 'remote') return new HttpTransport({ ...target, dispatcher })
  return new StdioTransport(
    await start({
      shell,
      command: `exec 0<&4 1>&4 4>&-; exec ${target.command.map(quote).join(' ')}`,
      directory: resolve(directory, target.cwd ?? '.'),
      environment: { ...environment, ...target.environment },
      channel: true,
    }),
  )
}

// Schemas of servers are never compiled here (ADR 0029).
function refuseToValidate(): never {
  throw new Error('Schemas of servers are not compiled')
}
