// The process that plugins run in: a thread for each, and a watch over the resources that they use. It reports what
// happens, and decides nothing else. Usage: node host.ts, with the channel to the catalog as descriptor 4.
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { PluginThread } from './plugin-thread.ts'
import { CHANNEL_FD, type FromHost, type PluginStart, type ToHost } from './protocol.ts'

const BUSY_MS = 50
const CALM_MS = 500

const channel = new Socket({ fd: CHANNEL_FD })
const threads = new Map<number, PluginThread>()
/** Plugins that are loading, and those that wait for one of them. */
const loading = new Set<number>()
const waiting = new Map<number, PluginStart>()
let received = 0
let key = ''
let loads = 1

const say = (message: FromHost): void => {
  channel.write(`${key} ${JSON.stringify(message)}\n`)
}

// Whatever a plugin does to it, the catalog notices that the process has ended.
const leave = (): never => process.exit(0)
channel.on('error', leave).on('close', leave)

createInterface({ input: channel }).on('line', (line) => {
  const message = JSON.parse(line) as ToHost
  if (message.type === 'open') {
    key = message.key
    loads = message.loads
    return
  }
  if (message.type === 'ping') {
    // A plugin may have read messages that were not meant for it.
    if (message.sent === received) say({ type: 'pong' })
    return
  }
  received++
  const { run } = message
  if (message.type === 'post') return threads.get(run)?.post(message.post)
  if (message.type === 'end') return end(run)
  waiting.set(run, message.start)
  beginWaiting()
})

/** As many as have a processor each: the time that one takes to load is then its own responsibility. */
function beginWaiting(): void {
  for (const [run, start] of waiting) {
    if (loading.size >= loads) return
    waiting.delete(run)
    loading.add(run)
    begin(run, start)
  }
}

function begin(run: number, start: PluginStart): void {
  const thread = new PluginThread(start, {
    ready: () => leaveLoading(run),
    message: (text) => say({ run, type: 'message', text }),
    failed: (error) => {
      end(run)
      say({ run, type: 'failed', error })
    },
  })
  threads.set(run, thread)
  say({ run, type: 'started' })
}

function leaveLoading(run: number): void {
  if (loading.delete(run)) beginWaiting()
}

function end(run: number): void {
  const thread = threads.get(run)
  threads.delete(run)
  waiting.delete(run)
  leaveLoading(run)
  if (thread !== undefined) void settle(thread)
}

async function watch(): Promise<void> {
  for (;;) {
    const busy = [...threads.values()].some((thread) => thread.busy)
    await new Promise((resolve) => setTimeout(resolve, busy ? BUSY_MS : CALM_MS))
    const sizes = await Promise.all([...threads.values()].map((thread) => thread.look()))
    const answers = sizes.filter((bytes) => bytes !== undefined)
    if (answers.length === sizes.length) checkRest(answers.reduce((sum, bytes) => sum + bytes, 0))
  }
}

/** Memory of the process that cannot be attributed to a thread: shared buffers, queued messages, native modules. */
const REST_BYTES = 192 << 20

/** Threads that are ending: their memory is not theirs any more, but not free yet. */
let ending = 0
/** How much of that memory is forgiven, since the system does not get back at once what a thread has left. */
let forgiven = REST_BYTES

async function settle(thread: PluginThread): Promise<void> {
  ending++
  await thread.end()
  ending--
  forgiven = Math.max(forgiven, process.memoryUsage.rss())
}

function checkRest(ofThreads: number): void {
  if (ending > 0) return
  const taken = process.memoryUsage.rss() - ofThreads
  forgiven = Math.max(REST_BYTES, Math.min(forgiven, taken))
  const rest = taken - forgiven
  const [first, second] = threads.values()
  if (first === undefined || rest <= first.memoryBytes) return
  if (second === undefined) first.failOutside(rest)
  // Which plugin it belongs to shows when each is alone.
  else leave()
}

await watch()
