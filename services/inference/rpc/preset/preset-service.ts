import type { ServiceImpl } from '@connectrpc/connect'
import type { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { createPresetVersion } from './create-preset-version.ts'
import { getPreset } from './get-preset.ts'
import { getPresetVersion } from './get-preset-version.ts'
import { listPresetVersions } from './list-preset-versions.ts'
import { listPresets } from './list-presets.ts'

/** The handlers of presets. */
export function presetService(
  dependencies: Parameters<typeof createPresetVersion>[0],
): ServiceImpl<typeof PresetService> {
  return {
    createPresetVersion: createPresetVersion(dependencies),
    getPreset: getPreset(dependencies),
    listPresets: listPresets(dependencies),
    listPresetVersions: listPresetVersions(dependencies),
    getPresetVersion: getPresetVersion(dependencies),
  }
}
