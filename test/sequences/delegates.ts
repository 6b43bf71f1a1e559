import { addTotals, type Totals } from './judge/totals.ts'
import type { SessionClient } from './session-client.ts'

/**
 * Checks that the sessions that worked for the calls of a session exist, were prompted once, and are idle. Returns
 * their ids.
 */
export async function settleDelegates({ client, history }: SessionClient, totals: Totals): Promise<string[]> {
  const { sessionId, problems } = history
  const parts = (await client.messages(sessionId)).flatMap(({ content = [] }) => content)
  const made: string[] = []
  for (const { name, state } of parts) {
    const id = state?.metadata?.sessionID
    if (name !== 'task' || typeof id !== 'string') continue
    const { body, asked } = await client.insist('GET', `/api/session/${id}`)
    const info = (body as { data?: { parentID?: string; outcome?: string } } | undefined)?.data
    // What a fork has copied names the sessions of another one.
    if (info !== undefined && info.parentID !== sessionId) continue
    const isDone = state?.status === 'completed'
    if (info === undefined) {
      if (isDone || asked.status !== 404) problems.push(`${id} worked for a call of ${sessionId}, and is lost`)
      continue
    }
    made.push(id)
    await client.insist('POST', `/api/experimental/session/${id}/wait`)
    const messages = await client.messages(id)
    const prompts = messages.filter(({ type }) => type === 'user').length
    if (isDone ? prompts !== 1 : prompts > 1) problems.push(`${id} was asked ${prompts} times`)
    addTotals(totals, messages, true)
  }
  return made
}
