/**
 * A request: when it was sent and answered. Without a status it is unknown whether it was carried out, or still will
 * be.
 */
export interface Asked {
  /** Its places in the order of everything that clients sent and received. */
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

/** Whether one was over before the other was sent. */
export function before(first: Asked, second: Asked): boolean {
  return first.ended < second.began
}

/** Times are whole milliseconds, and what is written at a time was read from the clock a moment before. */
export const CLOCK_MS = 100

/** Whether it was over before something that happened at a time of the server. */
export function beforeTime({ answered }: Asked, time: number): boolean {
  return answered + CLOCK_MS < time
}

/** Whether it was accepted, or may have been. */
export function mayBeDone({ status }: Asked): boolean {
  return status === undefined || status < 300
}
