import { z } from 'zod'
import {
  ListPresetsRequestSchema,
  ListPresetVersionsRequestSchema,
} from '#gen/portico/inference/v1/preset_service_pb.js'
import { operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { listOf, offsetQuery, toOffset } from '../records/page.ts'
import { fromDesignated, fromPreset, fromPresetVersion } from './mappers.ts'
import { designatedPreset, preset, presetVersion } from './schemas.ts'

/** Presets are read with any key of their workspace. */
const READ = { method: 'get' } as const
const PATH = '/api/v1/presets/{slug}'
const ofPreset = z.object({ slug: nameParameter('Preset') })
const version = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be an integer, at least 1')
  .meta({ description: 'Number of a version' })

export const listPresets = operation({
  ...READ,
  id: 'presets.list',
  path: '/api/v1/presets',
  summary: 'The presets of the workspace, the most recently changed first',
  query: z.object(offsetQuery(ListPresetsRequestSchema)),
  answer: listOf(preset),
  handle: ({ presets }, { query, call }) => presets.listPresets(toOffset(query), call.options()),
  present: ({ presets, totalSize }) => ({ data: presets.map(fromPreset), total_count: totalSize }),
})

export const getPreset = operation({
  ...READ,
  id: 'presets.get',
  path: PATH,
  params: ofPreset,
  summary: 'One preset with its designated version',
  answer: z.strictObject({ data: designatedPreset }),
  errors: ['PRESET_NOT_FOUND'],
  handle: ({ presets }, { params: { slug }, call }) => presets.getPreset({ slug }, call.options()),
  present: (preset) => ({ data: fromDesignated(preset) }),
})

export const listPresetVersions = operation({
  ...READ,
  id: 'presets.versions.list',
  path: `${PATH}/versions`,
  params: ofPreset,
  summary: 'The versions of a preset, oldest first',
  query: z.object(offsetQuery(ListPresetVersionsRequestSchema)),
  answer: listOf(presetVersion),
  errors: ['PRESET_NOT_FOUND'],
  handle: ({ presets }, { params: { slug }, query, call }) =>
    presets.listPresetVersions({ slug, ...toOffset(query) }, call.options()),
  present: ({ versions, totalSize }) => ({ data: versions.map(fromPresetVersion), total_count: totalSize }),
})

export const getPresetVersion = operation({
  ...READ,
  id: 'presets.versions.get',
  path: `${PATH}/versions/{version}`,
  params: ofPreset.extend({ version }),
  summary: 'One version of a preset',
  answer: z.strictObject({ data: presetVersion }),
  errors: ['PRESET_NOT_FOUND', 'PRESET_VERSION_NOT_FOUND'],
  handle: ({ presets }, { params: { slug, version }, call }) =>
    presets.getPresetVersion({ slug, version: Number(version) }, call.options()),
  present: ({ version }) => ({ data: fromPresetVersion(version) }),
})
