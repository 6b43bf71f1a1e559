import { type Client, ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import type { ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'
import type { JsonObject } from '#shared/json.ts'
import { STREAM_ENDED } from './http-transport.ts'
import { asItCame } from './list-tools.ts'
import { failedCall, toOutcome } from './tool-result.ts'

export interface ToolCall {
  /** The server's name for the tool. */
  readonly tool: string
  readonly input: JsonObject
  /** Longest silence of the server, in milliseconds. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly progress: (metadata: JsonObject) => void
}

/** Maximum time of a call, however much progress it reports. */
const MAX_CALL_MS = 600_000
const MAX_MESSAGE = 1_000
const PROGRESS_INTERVAL_MS = 250
const UNKNOWN = 'what it has done is unknown, and it was not sent again'

/**
 * Sends a call once. If the signal aborts or the time is over, the server is notified of the cancellation, and the
 * signal's reason is thrown or the call fails.
 */
export async function callTool(client: Client, call: ToolCall): Promise<ToolOutcome> {
  const { tool, input, timeoutMs, signal, progress } = call
  let newest: JsonObject | undefined
  const report = (): void => {
    if (newest !== undefined) progress(newest)
    newest = undefined
  }
  const timer = setInterval(report, PROGRESS_INTERVAL_MS).unref()
  const onprogress = ({ progress: done, total, message }: Readonly<Record<string, unknown>>): void => {
    if (typeof done !== 'number') return
    newest = {
      progress: done,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message: message.slice(0, MAX_MESSAGE).toWellFormed() }),
    }
  }
  try {
    const request = { method: 'tools/call', params: { name: tool, arguments: input } } as const
    const limits = { timeout: timeoutMs, resetTimeoutOnProgress: true, maxTotalTimeout: MAX_CALL_MS }
    const result: unknown = await client.request(request, asItCame, { signal, onprogress, ...limits })
    return toOutcome(result) ?? failedCall('mcp_error', 'The server did not answer with the result of a call')
  } catch (error) {
    if (signal.aborted) throw signal.reason
    return toFailure(error, timeoutMs)
  } finally {
    clearInterval(timer)
  }
}

/** Whether a request was not answered in time. */
export function isRequestTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout
}

function toFailure(error: unknown, timeoutMs: number): ToolOutcome {
  if (isRequestTimeout(error)) {
    return failedCall(
      'timeout',
      `The server was silent for more than ${timeoutMs} ms; the call was cancelled: ${UNKNOWN}`,
    )
  }
  if (error instanceof ProtocolError && error.code !== STREAM_ENDED) {
    return failedCall('mcp_error', `The server answered with an error: ${error.message}`)
  }
  const why = error instanceof Error ? error.message : String(error)
  return failedCall('outcome_unknown', `The connection to the server broke during the call (${why}): ${UNKNOWN}`)
}
