import type { MessageInitShape } from '@bufbuild/protobuf'
import type { SessionSchema } from '#gen/portico/session/v1/session_pb.js'

type Init = Exclude<MessageInitShape<typeof SessionSchema>, { readonly $typeName: string }>

/** A session as a stub of the service returns it, with all that every session has. */
export function stubSession(given: Init): Init {
  return {
    directory: '/work',
    projectId: 'global',
    createTime: 1_000,
    updateTime: 1_000,
    ...given,
  }
}
