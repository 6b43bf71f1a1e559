/**
 * The reasons of each service. A service adds its own with `declare module` beside its table. So an undeclared reason
 * does not compile, and the facade knows all reasons without knowing any service.
 */
export interface ReasonsOf {
  /** What the kernel itself rejects with; services that use it have the rows in their tables. */
  kernel: 'PRINCIPAL_MISSING' | 'REQUEST_INVALID' | 'INVALID_CURSOR'
}

export type AnyReason = ReasonsOf[keyof ReasonsOf]

/**
 * The only error that a service throws on purpose. `reason` is a row of the service's table of reasons; `metadata`
 * contains every variable part of the message (AIP-193). It travels as a Connect error with a google.rpc.ErrorInfo.
 */
export class Rejection extends Error {
  override readonly name = 'Rejection'
  readonly reason: AnyReason
  readonly metadata: Readonly<Record<string, string>>

  constructor(reason: AnyReason, metadata: Record<string, string> = {}, options?: ErrorOptions) {
    super(reason, options)
    this.reason = reason
    this.metadata = metadata
  }
}
