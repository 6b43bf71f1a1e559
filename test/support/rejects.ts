import assert from 'node:assert/strict'
import { Code, ConnectError } from '@connectrpc/connect'
import { reasonOf } from '#shared/reasons.ts'

/** How a call was refused. */
export interface Refusal {
  readonly code: keyof typeof Code
  readonly domain: string
  readonly reason: string
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

/** Waits for a call to be refused with a reason, and returns everything that its caller can see. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => assert.fail('The call was answered'),
    (thrown: unknown) => thrown,
  )
  const reason = reasonOf(error)
  if (!(error instanceof ConnectError) || reason === undefined) throw error
  return { code: Code[error.code] as keyof typeof Code, ...reason, metadata: { ...reason.metadata } }
}
