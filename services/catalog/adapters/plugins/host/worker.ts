// The thread of a plugin: loads its module, and handles calls from the catalog.
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { locateSyntaxError } from './locate-syntax-error.ts'
import type { Json, JsonMap, Plugin } from './plugin-api.ts'
import { type FromPlugin, MAX_ERROR, MAX_MESSAGE, type PluginStart, PONG, type ToPlugin } from './protocol.ts'
import { Registration } from './registration.ts'
import { reportFiles } from './report-files.ts'

type Start = Pick<PluginStart, 'entry' | 'options' | 'directory'>

const PROGRESS_MS = 100

const { entry, options, directory } = workerData as Start
if (parentPort === null) throw new Error('This is not a thread')
const port = parentPort
const send = port.postMessage.bind(port)
const registered = new Registration(directory, options as Json)
const running = new Map<number, AbortController>()

const say = (message: FromPlugin): void => {
  const text = JSON.stringify(message)
  if (text.length <= MAX_MESSAGE) send(text)
  else if (!('id' in message)) throw new Error(`It registers more than ${MAX_MESSAGE} characters`)
  else if (message.type !== 'progress')
    send(JSON.stringify({ type: 'error', id: message.id, error: `The answer has more than ${MAX_MESSAGE} characters` }))
}

// The host must survive whatever a plugin does to itself.
const kill = process.kill.bind(process)
const killOthers: typeof kill = (pid, signal) => {
  if (pid === process.pid || pid === -process.pid || pid === 0) throw new Error('A plugin must not end its process')
  return kill(pid, signal)
}
process.kill = killOthers

port.on('message', (message: 'ping' | ToPlugin) => {
  if (message === 'ping') return send(PONG)
  if (message.type === 'event') return registered.emit(message.name, message.event)
  if (message.type === 'abort') return running.get(message.id)?.abort()
  void answer(message)
})

const files = reportFiles((path, fingerprint) => say({ type: 'loaded', path, fingerprint }))
const module = (await import(pathToFileURL(entry).href).catch((error: unknown) => {
  throw locateSyntaxError(error, files)
})) as { default?: Partial<Plugin> }
const plugin = module.default
if (plugin === undefined || typeof plugin === 'function') {
  if (Object.values(module).some((exported) => typeof exported === 'function')) {
    throw new Error(
      'This looks like an OpenCode plugin, a function that returns hooks: a plugin of Portico is a default export of the form { id, setup(context) }',
    )
  }
}
if (typeof plugin !== 'object' || plugin === null || typeof plugin.setup !== 'function') {
  throw new Error('Its module has no default export of the form { id, setup(context) }')
}
await plugin.setup(registered.context)
say({ type: 'ready', registration: registered.close(plugin.id) })

async function answer({ id, name, input }: Extract<ToPlugin, { type: 'call' }>): Promise<void> {
  const controller = new AbortController()
  running.set(id, controller)
  const progress = atMostEvery(PROGRESS_MS, (metadata: JsonMap) => {
    if (running.has(id)) say({ type: 'progress', id, metadata })
  })
  try {
    const value = await registered.call(name, input as JsonMap, { signal: controller.signal, progress })
    say({ type: 'result', id, value: value ?? null })
  } catch (error) {
    say({ type: 'error', id, error: textOf(error).slice(0, MAX_ERROR) })
  } finally {
    running.delete(id)
  }
}

/** The message of anything that was thrown, which may itself throw when it is read. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error)
  } catch {
    return 'It threw something that cannot be read'
  }
}

/** Calls with the newest value, at once or after the interval. */
function atMostEvery<T>(milliseconds: number, call: (value: T) => void): (value: T) => void {
  let newest: { readonly value: T } | undefined
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    timer = undefined
    if (newest === undefined) return
    const { value } = newest
    newest = undefined
    timer = setTimeout(flush, milliseconds).unref()
    call(value)
  }
  return (value) => {
    newest = { value }
    if (timer === undefined) flush()
  }
}
