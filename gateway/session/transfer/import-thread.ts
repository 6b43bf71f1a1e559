// The thread that imports are parsed in; see read-import.ts.

import { parentPort } from 'node:worker_threads'
import { Rejection } from '#shared/rejection.ts'
import { type EncodedImport, encodeImport } from './encode-import.ts'

export type ImportAnswer = EncodedImport | Pick<Rejection, 'reason' | 'metadata'>

parentPort?.on('message', (bytes: Uint8Array) => {
  const answer = encoded(bytes)
  // Moved, since a copy of it would hold up the event loop of the process.
  parentPort?.postMessage(answer, 'messages' in answer ? [answer.messages.buffer as ArrayBuffer] : [])
})

function encoded(bytes: Uint8Array): ImportAnswer {
  try {
    return encodeImport(bytes)
  } catch (error) {
    if (!(error instanceof Rejection)) throw error
    return { reason: error.reason, metadata: error.metadata }
  }
}
