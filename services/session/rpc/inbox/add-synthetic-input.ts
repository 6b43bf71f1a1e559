import type { ServiceImpl } from '@connectrpc/connect'
import type { AddSyntheticInputRequest, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { admitSynthetic } from '#services/session/domain/inbox/inputs.ts'
import type { SyntheticText } from '#services/session/domain/message.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check, parseText } from '#shared/rpc/parse.ts'
import { NO_BLOBS } from '../blob-contents.ts'
import { parseMessageId, parseMetadata } from '../parse.ts'
import { itemToProto } from './item-to-proto.ts'
import { checkAdmitted, digestOf, MAX_DESCRIPTION_LENGTH, MAX_TEXT_LENGTH, parseDelivery } from './parse-admission.ts'

/** Admits one synthetic text; the response means that it is durable. */
export function addSyntheticInput(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['addSyntheticInput'] {
  const { store } = dependencies
  return async (request, context) => {
    const admitter = principalOf(context)
    const id = parseMessageId(request.messageId)
    const synthetic = parseSynthetic(request)
    const delivery = parseDelivery(request.delivery)
    const { text, description = null, metadata = null } = synthetic
    const digest = digestOf([text, description, metadata, delivery])
    const item = await store.revise(
      { workspace: admitter.workspaceId, sessionId: request.sessionId },
      (reads) => reads.admissionReads(id),
      (revision, reads) => {
        const admission = { id, synthetic, delivery, digest, admitter, wake: !request.parked }
        return checkAdmitted(admitSynthetic(revision, reads, admission), request.sessionId, id)
      },
    )
    return { item: itemToProto(item, NO_BLOBS) }
  }
}

function parseSynthetic({ synthetic }: AddSyntheticInputRequest): SyntheticText {
  check(synthetic !== undefined, 'synthetic', 'must be set')
  const { text, description, metadata } = synthetic
  return {
    text: parseText('text', text, 0, MAX_TEXT_LENGTH),
    description: description && parseText('description', description, 0, MAX_DESCRIPTION_LENGTH),
    metadata: parseMetadata(metadata),
  }
}
