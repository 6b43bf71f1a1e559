import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { lazyHandlers } from '#shared/lazy/lazy-handlers.ts'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { PresetStore } from './ports/preset-store.ts'
import { reasons } from './reasons.ts'
import type { GenerationDependencies } from './run/generation.ts'

const generations = lazyModule(() => import('./rpc/inference-service.ts'))
const presets = lazyModule(() => import('./rpc/preset/preset-service.ts'))
const usage = lazyModule(() => import('./rpc/usage/usage-service.ts'))

/** What the handlers need. */
export interface HandlerDependencies extends Omit<GenerationDependencies, 'readSettings'> {
  readonly presets: PresetStore
  readonly clock: Clock
}

/** The routes of the inference service, whose handlers are loaded with the first generation. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const handlers = {
    inference: lazyHandlers(InferenceService, async () => (await generations()).inferenceService(dependencies)),
    presets: lazyHandlers(PresetService, async () => (await presets()).presetService(dependencies)),
    usage: lazyHandlers(UsageService, async () => (await usage()).usageService(dependencies)),
  }
  return {
    domain: 'inference',
    reasons,
    services: [
      route(InferenceService, handlers.inference),
      route(PresetService, handlers.presets),
      route(UsageService, handlers.usage),
    ],
  }
}
