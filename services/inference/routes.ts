import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { PresetStore } from './ports/preset-store.ts'
import { reasons } from './reasons.ts'
import { generationHandlers } from './rpc/generations.ts'
import { modelHandlers } from './rpc/models.ts'
import { presetHandlers } from './rpc/presets.ts'
import { usageHandlers } from './rpc/usage.ts'
import type { GenerationDependencies } from './run/generation.ts'

export interface HandlerDependencies extends GenerationDependencies {
  readonly presets: PresetStore
  readonly clock: Clock
}

export function createRoutes(dependencies: HandlerDependencies): Routes {
  const inference = route(InferenceService, { ...generationHandlers(dependencies), ...modelHandlers(dependencies) })
  const presets = route(PresetService, presetHandlers(dependencies))
  const usage = route(UsageService, usageHandlers(dependencies))
  return { domain: 'inference', reasons, services: [inference, presets, usage] }
}
