import type { WireMessage } from '#test/support/instance-client.ts'
import type { Driver } from './drive.ts'
import { before, type History, type SentPrompt, stoppers } from './history.ts'
import { isLong } from './step.ts'

/** No run does nothing for so long, unless what it does is long, nor after an interrupt, on a machine however busy. */
const STILL_MS = 90_000
const STOP_MS = 60_000
/** Nor does one get on for so long without an end. */
const ENDLESS_MS = 600_000

/**
 * Brings a session to its end: waits until it is idle (what would take too long is interrupted), holds it to what had to
 * run by then, and wakes it until everything that was accepted has run. Answers its messages.
 */
export async function settle(driver: Driver): Promise<readonly WireMessage[]> {
  const { client, history } = driver
  const { problems, prompts, sessionId } = history
  await quiet(driver)
  let messages = await client.messages(sessionId)
  const ends = stoppers(history)
  const wake = history.wakes.findLast(({ status }) => status === 200)
  history.woken = ends.length > 0 && wake !== undefined && ends.every((end) => before(end, wake))
  for (const prompt of left(prompts, messages)) {
    if (mustRun(history, prompt))
      problems.push(`${prompt.id} was accepted and does not run, though the session is idle`)
  }
  if (problems.length > 0) return messages
  for (let round = 0; round <= prompts.length + 1; round++) {
    if (round > 0 && left(prompts, messages).length === 0) return messages
    await driver.prompt({ kind: 'words', count: 1, slowMs: 0 }, 'queue')
    await quiet(driver)
    messages = await client.messages(sessionId)
    if (problems.length > 0) return messages
  }
  for (const { id } of left(prompts, messages)) problems.push(`${id} was accepted and never runs`)
  return messages
}

function left(prompts: readonly SentPrompt[], messages: readonly WireMessage[]): SentPrompt[] {
  const users = new Set(messages.filter(({ type }) => type === 'user').map(({ id }) => id))
  return prompts.filter(({ id, accepted, cancelled }) => accepted && id !== undefined && !users.has(id) && !cancelled)
}

/**
 * Whether an accepted prompt must have run by the time that the session is idle: it woke the session, or something did later,
 * and nothing that ends runs came after that.
 */
function mustRun(history: History, { asked }: SentPrompt): boolean {
  const ends = stoppers(history)
  return history.wakes.some(
    (wake) => wake.status === 200 && (wake === asked || before(asked, wake)) && ends.every((end) => before(end, wake)),
  )
}

/** Waits until nothing runs in the session; interrupts once when what runs is long. */
async function quiet(driver: Driver): Promise<void> {
  const { client, history } = driver
  const { sessionId, prompts, problems } = history
  const long = new Set(prompts.filter(({ work }) => isLong(work)).map(({ id }) => id))
  const begun = Date.now()
  let [moved, seen] = [begun, '']
  let interrupted: number | undefined
  for (;;) {
    if (await driver.wait(long.size > 0 ? 400 : 3_000)) return
    if (client.dead) return void problems.push('the server was given up')
    const messages = await client.messages(sessionId)
    const last = `${messages.length} ${JSON.stringify(messages.at(-1))}`
    if (last !== seen) [moved, seen] = [Date.now(), last]
    const still = Date.now() - Math.max(moved, interrupted ?? 0)
    if (still > (interrupted === undefined ? STILL_MS : STOP_MS) || Date.now() - begun > ENDLESS_MS) {
      const after = interrupted === undefined ? '' : `, ${Date.now() - interrupted} ms after an interrupt`
      problems.push(
        `still busy after ${Date.now() - begun} ms, the last ${still} of them without a change${after}; its last message: ${last.slice(0, 2_000)}`,
      )
      return
    }
    if (long.size === 0 || interrupted !== undefined) continue
    const running = messages.findLast(({ type }) => type === 'user')
    // One whose id the server made and nobody knows may be long too.
    const minted = running !== undefined && !prompts.some(({ id }) => id === running.id)
    if (running !== undefined && (long.has(running.id) || (minted && long.has(undefined)))) {
      if (await driver.interrupt()) interrupted = Date.now()
    }
  }
}
