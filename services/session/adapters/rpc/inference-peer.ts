import { create } from '@bufbuild/protobuf'
import type { Client, Transport } from '@connectrpc/connect'
import { type ModelRef, ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import { type GenerationEvent, InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { modelName } from '#services/session/domain/generation/generation.ts'
import type { Inference } from '#services/session/ports/inference.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { createClient } from '#shared/rpc/client.ts'
import { peerError, peerStream } from './peer-errors.ts'
import { peerOptions } from './peer-options.ts'

const TIMEOUT_MS = 20_000

export class RpcInferencePeer implements Inference {
  readonly #client: Client<typeof InferenceService>

  constructor(transport: Transport) {
    this.#client = createClient(InferenceService, transport)
  }

  async findModel(call: PeerCall, wanted: ModelRef | undefined) {
    try {
      const options = peerOptions(call, TIMEOUT_MS)
      const allowed = wanted === undefined ? [] : [modelName(wanted)]
      const { defaultModel, models } = await this.#client.listModels({ allowed }, options)
      const slash = defaultModel.indexOf('/')
      const names = { providerId: defaultModel.slice(0, slash), modelId: defaultModel.slice(slash + 1) }
      const model = wanted ?? create(ModelRefSchema, names)
      return { model, contextLength: models.find(({ name }) => name === modelName(model))?.contextLength }
    } catch (error) {
      throw peerError('inference', error, call)
    }
  }

  async *generate(call: PeerCall, generation: GenerationRequest): AsyncGenerator<readonly GenerationEvent[]> {
    const stream = this.#client.streamGenerate({ generation }, peerOptions(call))
    for await (const { events } of peerStream('inference', stream, call)) yield events
  }
}
