import type { Answer, Delivery, Work } from './step.ts'

/** A request: when it was sent and answered. Without a status nobody knows whether it was done, or still will be. */
export interface Asked {
  /** Its places among all that clients sent and were answered. */
  readonly began: number
  ended: number
  /** Epoch milliseconds. */
  readonly sent: number
  answered: number
  status: number | undefined
}

let moment = 0

/** A request that is about to be sent. */
export function asking(): Asked {
  return { began: moment++, ended: Infinity, sent: Date.now(), answered: Infinity, status: undefined }
}

/** The request was answered now. */
export function wasAnswered(asked: Asked, status: number): void {
  Object.assign(asked, { ended: moment++, answered: Date.now(), status })
}

/** A prompt as the client knows it. */
export interface SentPrompt {
  /** Undefined: the server made one, and its answer was lost. */
  id: string | undefined
  readonly text: string
  readonly work: Work
  readonly delivery: Delivery
  readonly asked: Asked
  accepted: boolean
  /** Somebody asked to cancel it: it may never run. */
  cancelled: boolean
}

/** A reply to a permission request. */
export interface SentReply {
  readonly asked: Asked
  readonly answer: Answer
  readonly requestId: string
  readonly messageId: string
  readonly callId: string
}

/** All that one client did in its session, and what it was answered. */
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
  /** Somebody woke the session after all that ended runs, and it was idle before anything else was sent. */
  woken: boolean
  /** What was found wrong at once. */
  readonly problems: string[]
}

/** Whether one was over before the other was sent. */
export function before(first: Asked, second: Asked): boolean {
  return first.ended < second.began
}

/** Times are whole milliseconds, and what is written at a time was read from the clock a moment before. */
export const CLOCK_MS = 100

/** Whether it was over before something whose time the server says. */
export function beforeTime({ answered }: Asked, time: number): boolean {
  return answered + CLOCK_MS < time
}

/** What may end a run as interrupted, and parks what waits: interrupts, and refusals without a word. */
export function stoppers({ interrupts, replies }: History): Asked[] {
  const refusals = replies.filter(({ answer }) => answer === 'reject')
  return [...interrupts, ...refusals.map(({ asked }) => asked)].filter(mayBeDone)
}

/** Whether it was accepted, or nobody knows. */
export function mayBeDone({ status }: Asked): boolean {
  return status === undefined || status < 300
}
