import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { reasons } from './reasons.ts'
import { generate } from './rpc/generate.ts'
import { getProvider } from './rpc/get-provider.ts'
import { listModels } from './rpc/list-models.ts'
import { streamGenerate } from './rpc/stream-generate.ts'
import type { GenerationDependencies } from './run/generation.ts'

/** What the handlers need. */
export type HandlerDependencies = GenerationDependencies

/** The routes of the inference service. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const implementation = {
    generate: generate(dependencies),
    streamGenerate: streamGenerate(dependencies),
    listModels: listModels(dependencies),
    getProvider: getProvider(dependencies),
  }
  return { domain: 'inference', reasons, services: [route(InferenceService, implementation)] }
}
