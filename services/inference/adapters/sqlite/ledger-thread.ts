// The thread that owns the file of the ledger. Calls that come during a commit are in the next one.
import { parentPort, workerData } from 'node:worker_threads'
import { LedgerFile } from './ledger-file.ts'
import { type ThreadAnswer, type ThreadCall, toSentError } from './thread-messages.ts'

const port = parentPort
if (port === null) throw new Error('This is the code of a thread')
const file = new LedgerFile((workerData as { readonly path: string }).path)
let answers: ThreadAnswer[] = []
let disposed = false

port.on('message', (calls: readonly ThreadCall[]) => {
  for (const call of calls) {
    run(call).then(
      (value) => answer({ id: call.id, value }),
      (error: unknown) => answer({ id: call.id, error: toSentError(error) }),
    )
  }
})

function run({ method, args }: ThreadCall): Promise<unknown> {
  if (method !== 'dispose') return Reflect.apply(file[method], file, args)
  disposed = true
  return file[Symbol.asyncDispose]()
}

/** Results of one commit are sent together. */
function answer(one: ThreadAnswer): void {
  answers.push(one)
  if (answers.length > 1) return
  setImmediate(() => {
    port?.postMessage(answers)
    answers = []
    if (disposed) port?.close()
  })
}
