import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { GenerationDependencies } from '../run/generation.ts'
import { countTokens } from './count-tokens.ts'
import { generate } from './generate.ts'
import { getProvider } from './get-provider.ts'
import { listModels } from './list-models.ts'
import { fromStoredSettings } from './preset/settings.ts'
import { SettingsReader } from './preset/settings-reader.ts'
import { streamGenerate } from './stream-generate.ts'

/** The handlers of generations and models. */
export function inferenceService(
  dependencies: Omit<GenerationDependencies, 'readSettings'>,
): ServiceImpl<typeof InferenceService> {
  const reader = new SettingsReader(fromStoredSettings)
  const generations = { ...dependencies, readSettings: reader.read.bind(reader) }
  return {
    generate: generate(generations),
    streamGenerate: streamGenerate(generations),
    countTokens: countTokens(generations),
    listModels: listModels(dependencies),
    getProvider: getProvider(dependencies),
  }
}
