import type { Transport } from '@connectrpc/connect'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { KeyChecker } from '#services/inference/ports/key-checker.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'

const TIMEOUT_MS = 5_000

/**
 * Calls the identity service each time, so that a disabled key spends nothing more. Its rejections are passed on
 * unchanged.
 */
export class RpcKeyChecker implements KeyChecker {
  readonly #client

  constructor(identity: Transport) {
    this.#client = createClient(IdentityService, identity)
  }

  async check(principal: Principal, signal: AbortSignal): Promise<KeyTerms | undefined> {
    if (principal.kind === 'local-operator') return undefined
    const options = callOptions({ principal }, { signal, timeoutMs: TIMEOUT_MS })
    const { terms } = await this.#client.checkApiKey({ keyId: principal.apiKeyId }, options)
    return terms
  }
}
