import type { WireMessage, WirePart } from '#test/support/instance-client.ts'
import { type CallInput, tokenOf } from '../commands.ts'
import type { Evidence } from './evidence.ts'

/** What is known of one tool call. */
interface Call {
  readonly messageId: string
  readonly part: WirePart & { readonly time?: { readonly ran?: number } }
  readonly token: string
  /** Where its step began. */
  readonly directory: string
}

/**
 * Each call ran once, where the session was, or not at all where it was refused; and replies to requests had their
 * effect.
 */
export function judgeTools(evidence: Evidence): string[] {
  const calls = callsOf(evidence)
  return [...judgeLines(calls, evidence), ...judgeReplies(calls, evidence), ...judgeRequests(evidence)]
}

function callsOf({ messages, home }: Evidence): Call[] {
  let directory = home
  return messages.flatMap((message) => {
    const { id, content = [], location } = message as WireMessage & { location?: { directory: string } }
    if (message.type === 'location-switched') directory = location?.directory ?? ''
    return content.flatMap((part) => {
      const token = tokenOf((part.state?.input ?? {}) as CallInput)
      return part.type === 'tool' && token !== undefined ? [{ messageId: id, part, token, directory }] : []
    })
  })
}

function judgeLines(calls: readonly Call[], { lines, takenOver }: Evidence): string[] {
  const problems: string[] = []
  for (const line of lines) {
    const own = calls.filter(({ token }) => token === line.split(' ')[0])
    if (own.length > 0 && !own.some((call) => line === `${call.token} ${call.directory}`))
      problems.push(`a command ran as “${line}”, and its step began in ${own[0]?.directory}`)
  }
  const tokens = lines.map((line) => line.split(' ')[0] ?? '')
  for (const token of new Set([...tokens, ...calls.map((call) => call.token)])) {
    const own = calls.filter((call) => call.token === token)
    const [least, most] = [
      own.filter((call) => hasRun(call)).length,
      own.filter((call) => mayHaveRun(call, takenOver)).length,
    ]
    const written = tokens.filter((one) => one === token).length
    if (written >= least && written <= most) continue
    const states = own.map(({ part }) => `${part.state?.status} ${part.state?.error?.type ?? ''}`)
    problems.push(`the command ${token} ran ${written} times; its calls: ${JSON.stringify(states)}`)
  }
  return problems
}

function hasRun({ part }: Call): boolean {
  return part.state?.status === 'completed'
}

/** A call that was cut off may have run or not; one that never began has not. */
function mayHaveRun({ part }: Call, takenOver: boolean): boolean {
  if (part.state?.status === 'completed') return true
  const { type = '', message = '' } = part.state?.error ?? {}
  if (message.includes('before it began')) return false
  if (/^(permission\.|tool\.(refused|not_found|input_invalid|access_changed))/.test(type)) return false
  // What its owner had not yet written is lost.
  return type !== 'aborted' || takenOver || part.time?.ran !== undefined
}

function judgeReplies(calls: readonly Call[], { history, events }: Evidence): string[] {
  return history.replies.flatMap(({ asked, answer, requestId, messageId, callId }) => {
    if (asked.status !== 204) return []
    const wanted = answer === 'correct' ? 'reject' : answer
    const replied = events.find(({ type, data }) => type === 'permission.replied' && data.requestID === requestId)
    if (replied?.data.reply !== wanted)
      return [`${requestId} was answered ${wanted}; its event says ${String(replied?.data.reply)}`]
    const call = calls.find((one) => one.messageId === messageId && one.part.id === callId)
    const type = call?.part.state?.error?.type ?? call?.part.state?.status ?? 'gone'
    // A reload may come between the answer and the call.
    const expected =
      wanted === 'reject'
        ? /^(permission\.(rejected|corrected)|aborted)$/
        : /^(completed|aborted|tool\.location_changed)$/
    return expected.test(type) ? [] : [`${requestId} was answered ${wanted}; its call is ${type}`]
  })
}

/** Every request is answered or withdrawn, once. */
function judgeRequests({ events }: Evidence): string[] {
  const asked = events.filter(({ type }) => type === 'permission.asked').map(({ data }) => String(data.id))
  const replied = events.filter(({ type }) => type === 'permission.replied').map(({ data }) => String(data.requestID))
  return asked.flatMap((id) => {
    const times = replied.filter((other) => other === id).length
    return times === 1 ? [] : [`the permission request ${id} was answered ${times} times`]
  })
}
