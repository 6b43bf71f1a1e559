import type { PermissionReply, PermissionRequest } from '#gen/portico/session/v1/session_pb.js'

/** The answer to a request; the model is shown `message`, and a rejection without one ends the run. */
export interface PermissionAnswer {
  readonly reply: PermissionReply
  readonly message: string
}

/** A request and its answer. */
export interface KnownRequest {
  readonly request: PermissionRequest
  /** Undefined while nobody answered it. */
  readonly answer: PermissionAnswer | undefined
}
