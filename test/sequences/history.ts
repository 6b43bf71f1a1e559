import type { Answer, Delivery, Work } from './step.ts'

/** When a request was sent and answered (epoch milliseconds). Without a status nobody knows whether it was done. */
export interface Asked {
  readonly sent: number
  answered: number
  status: number | undefined
}

/** A prompt as the client knows it. */
export interface SentPrompt {
  /** Undefined: the server made one, and its answer was lost. */
  id: string | undefined
  readonly text: string
  readonly work: Work
  readonly delivery: Delivery
  readonly asked: Asked
  /** The last request for it to run that was accepted. */
  wake: Asked | undefined
  /** Whether that was its admission. */
  wokeAtOnce: boolean
  accepted: boolean
}

/** A reply to a permission request. */
export interface SentReply {
  readonly asked: Asked
  readonly answer: Answer
  readonly requestId: string
  readonly messageId: string
  readonly callId: string
}

/** All that one client did in its session, and what it was told. */
export interface History {
  readonly sessionId: string
  /** File that the tools of the session write to, a line for each call that was run. */
  readonly calls: string
  readonly prompts: SentPrompt[]
  /** Every request that wakes the session, the prompts' own included. */
  readonly wakes: Asked[]
  readonly interrupts: Asked[]
  readonly replies: SentReply[]
  readonly waits: Asked[]
  /** What was found wrong at once. */
  readonly problems: string[]
}

/** Whether one was over before the other began. Both clocks are this machine's. */
export function before(first: { readonly answered: number }, second: { readonly sent: number }): boolean {
  return first.answered + CLOCK_MS < second.sent
}

/** Times are whole milliseconds, and what is written at a time was read from the clock a moment before. */
export const CLOCK_MS = 100

/** What may end a run as interrupted: interrupts, and refusals. */
export function stoppers({ interrupts, replies }: History): Asked[] {
  const done = ({ status }: Asked): boolean => status === undefined || status < 300
  const refusals = replies.filter(({ answer }) => answer === 'reject' || answer === 'correct')
  return [...interrupts, ...refusals.map(({ asked }) => asked)].filter(done)
}
