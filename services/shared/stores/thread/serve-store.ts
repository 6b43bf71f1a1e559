import { parentPort, workerData } from 'node:worker_threads'
import { DISPOSE, type ThreadAnswer, type ThreadCall, toSentError } from './thread-messages.ts'

/** What a thread runs that owns a file of a store: opens the file, and serves calls until it is disposed. */
export function serveStore(open: (path: string) => AsyncDisposable): void {
  const port = parentPort
  if (port === null) throw new Error('This is the code of a thread')
  const file = open((workerData as { readonly path: string }).path)
  let answers: ThreadAnswer[] = []
  let disposed = false

  const run = ({ method, args }: ThreadCall): Promise<unknown> => {
    if (method !== DISPOSE) return Reflect.apply(Reflect.get(file, method), file, args)
    disposed = true
    return Promise.resolve(file[Symbol.asyncDispose]())
  }

  /** Results of one commit are sent together. */
  const answer = (one: ThreadAnswer): void => {
    answers.push(one)
    if (answers.length > 1) return
    setImmediate(() => {
      port.postMessage(answers)
      answers = []
      if (disposed) port.close()
    })
  }

  port.on('message', (calls: readonly ThreadCall[]) => {
    for (const call of calls) {
      run(call).then(
        (value) => answer({ id: call.id, value }),
        (error: unknown) => answer({ id: call.id, error: toSentError(error) }),
      )
    }
  })
}
