import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import type { SessionRecord } from '#services/session/adapters/tables/sessions.ts'

/** The workspace that the sessions are in. */
export const W = 'wrk_0123456789abcdefghij'

const SECOND_MS = 1_000
const TOKENS = JSON.stringify({ input: 100, output: 100, reasoning: 0, cacheRead: 0, cacheWrite: 0 })
const MODEL = JSON.stringify({ providerId: 'portico', modelId: 'echo' })

/** This many sessions, a second apart, the oldest first. */
export function* someSessions(count: number): Generator<SessionRecord> {
  const start = Date.now() - count * SECOND_MS
  const step = Math.floor(count / 10)
  for (let i = 0; i < count; i++) {
    const few = i % step === 7
    const half = i % 2 === 0
    const title = `Session ${i} ${few ? 'needle' : half ? 'of the parser' : 'of the lexer'}, topic ${i % 100} ${i < step ? 'ancient' : ''}`
    const time = start + i * SECOND_MS
    yield {
      workspace: W,
      sessionId: `ses_${i.toString(36).padStart(6, '0')}0123456789abcdefghij`,
      parentId: few ? 'ses_few' : i % 10 === 3 ? 'ses_parent' : null,
      fork: null,
      title,
      titleSearch: title.toLowerCase(),
      agent: null,
      model: MODEL,
      directory: few ? '/home/user/few' : half ? '/home/user/many' : `/home/user/p${i % 999}`,
      projectId: few ? 'few' : half ? 'many' : 'other',
      subpath: !few && i % 4 === 0 ? 'src' : '',
      metadata: null,
      permissions: null,
      costNanos: '0',
      tokens: TOKENS,
      outcome: Outcome.SUCCEEDED,
      createTime: time,
      updateTime: time,
      idleTime: time,
      viewTime: null,
      archiveTime: null,
      titling: null,
      seq: 20,
      due: 0,
      wake: null,
      running: 0,
      interruptRequested: 0,
      lastAdmitter: null,
      fence: 1,
      acquisitions: 0,
      leaseOwner: null,
      leaseUntil: 0,
      claimableAt: null,
    }
  }
}
