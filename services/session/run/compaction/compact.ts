import { COMPACTION_INTERRUPTED } from '#services/session/domain/compaction/compaction.ts'
import { coveredBy } from '#services/session/domain/compaction/coverage.ts'
import { notKept } from '#services/session/domain/compaction/to-summarize.ts'
import type { MessageOf } from '#services/session/domain/message.ts'
import { Rejection } from '#shared/rejection.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import type { Conversation } from '../history/conversation.ts'
import { StoreFault } from '../patient-port.ts'
import { nextTurn } from '../pause.ts'
import { type LastEvent, type RunContext, sendEvents } from '../run-context.ts'
import { isLeaseLost, Stopped } from '../tenure.ts'
import { CompactionFailure, summarize } from './summarize.ts'

/** The conversation to summarize, and the model's context length in tokens (undefined: unknown). */
interface Target {
  readonly conversation: Pick<Conversation, 'messages'>
  readonly contextLength: number | undefined
}

/**
 * Summarizes a conversation whose compaction runs, and returns what became of it. Throws Stopped when the run was
 * stopped: then it is settled, unless somebody else has to do it.
 */
export async function compact(
  run: RunContext,
  running: MessageOf<'compaction'>,
  { conversation, contextLength }: Target,
  begun: LastEvent,
): Promise<MessageOf<'compaction'>> {
  const { owned, tenure, logger, session } = run
  const { messageId } = running
  const { manual, recent = '' } = running.kind.value
  const before = conversation.messages.filter((message) => message.messageId !== messageId)
  const { summary, turns } = coveredBy(before, !manual)
  const covered = { summary, turns: notKept(turns, recent) }
  try {
    const receive = (delta: string) => send(run, messageId, delta, begun)
    const made = await inSpan('session.compaction', {}, () => summarize(run, covered, contextLength, receive))
    return await owned.finishCompaction(running, made)
  } catch (error) {
    if (isLeaseLost(error)) tenure.stop('lost')
    if (tenure.reason === 'lost') throw new Stopped('lost')
    if (isStoreUnavailable(error) || error instanceof StoreFault) throw error
    if (tenure.reason === 'shutdown') {
      await owned.settleAborted()
      throw new Stopped('shutdown')
    }
    if (tenure.reason === 'interrupted') {
      await owned.failCompaction(running, COMPACTION_INTERRUPTED, undefined)
      throw new Stopped('interrupted')
    }
    if (!(error instanceof CompactionFailure)) throw error
    logger.warn({ ...causeOf(error), sessionId: session.sessionId }, 'A conversation could not be summarized')
    return owned.failCompaction(running, error.error, error.usage)
  }
}

/** What to log of a failure: only an unexpected one has a stack, and a provider's message is meant for the client. */
function causeOf(error: CompactionFailure): object {
  const { cause } = error
  if (cause instanceof Rejection) return { reason: cause.reason }
  return cause === undefined ? { reason: error.error.type } : { err: error }
}

async function send(run: RunContext, messageId: string, delta: string, begun: LastEvent): Promise<void> {
  if (sendEvents(run, [{ case: 'compactionExtended', value: { messageId, delta } }], begun)) await nextTurn()
}
