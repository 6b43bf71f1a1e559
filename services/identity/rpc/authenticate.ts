import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type AuthenticateResponse,
  AuthenticateResponseSchema,
  type IdentityService,
} from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { isUsable } from '../domain/api-key.ts'
import type { IdentityStore, OwnedApiKey } from '../ports/identity-store.ts'
import type { AccessTokens } from '../run/access-token/access-tokens.ts'
import { hashOf } from '../run/new-key.ts'
import { parseKeyId, termsIn } from './api-keys.ts'

/** Metadata for a token that was made here: it was not guessed. */
const OURS = { ours: 'true' }

/**
 * Resolves credentials to principals and the terms of their keys, which are read with them. A key that is unknown,
 * malformed, disabled or expired always gets the same response, so that nobody can find out which keys exist. So does
 * an access token that is not ours, has expired, or acts as such a key.
 */
export function authentication(dependencies: {
  readonly store: IdentityStore
  readonly tokens: AccessTokens
  readonly clock: Clock
  /** Where the local operator acts. */
  readonly bootstrap: { readonly organizationId: string; readonly workspaceId: string }
}) {
  const { store, tokens, clock, bootstrap } = dependencies
  const { organizationId, workspaceId } = bootstrap
  // One message for all calls: it never differs, and callers must not change it.
  const localOperator = create(AuthenticateResponseSchema, {
    principal: { organizationId, workspaceId, kind: Kind.LOCAL_OPERATOR },
  })
  // A store that caches its reads returns the same object again.
  const answers = new WeakMap<OwnedApiKey, AuthenticateResponse>()

  const findKey = async (apiKey: string) => {
    const key = await store.findKey(hashOf(apiKey))
    if (key === undefined || !isUsable(key.key, clock.now())) throw new Rejection('CREDENTIAL_REFUSED')
    return key
  }
  const findTarget = async (token: string) => {
    const target = await tokens.verify(token)
    if (target === undefined) throw new Rejection('CREDENTIAL_REFUSED')
    if (target === 'expired') throw new Rejection('CREDENTIAL_REFUSED', OURS)
    const owned = await store.getKey(target.workspaceId, target.keyId)
    // No policy targets another kind; nor would a token of one that did be good.
    if (owned?.key.kind !== Kind.WORKSPACE || !isUsable(owned.key, clock.now()))
      throw new Rejection('CREDENTIAL_REFUSED', OURS)
    return owned
  }

  return {
    async authenticate({ credential }) {
      if (credential.case === 'localOperator') return localOperator
      check(credential.case !== undefined, 'credential', 'must be set')
      const key = await (credential.case === 'apiKey' ? findKey(credential.value) : findTarget(credential.value))
      let answer = answers.get(key)
      if (answer === undefined) {
        answer = answerOf(key)
        answers.set(key, answer)
      }
      return answer
    },

    /** Its state is read from the store for each call. */
    async checkApiKey({ keyId }, context) {
      const key = await store.getKey(principalOf(context).workspaceId, parseKeyId(keyId))
      if (key === undefined || !isUsable(key.key, clock.now())) throw new Rejection('CREDENTIAL_REFUSED')
      return { terms: termsIn(key) }
    },
  } satisfies Partial<ServiceImpl<typeof IdentityService>>
}

function answerOf(key: OwnedApiKey): AuthenticateResponse {
  const { organizationId } = key
  const { keyId: apiKeyId, kind, workspaceId } = key.key
  return create(AuthenticateResponseSchema, {
    principal: { organizationId, workspaceId, apiKeyId, kind },
    terms: termsIn(key),
  })
}
