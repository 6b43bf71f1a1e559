import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import type { ModelRef, ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonOf } from '../kinds.ts'
import { name } from './ids.ts'

export const modelRef = z
  .strictObject({ id: name, providerID: name, variant: name.nullish() })
  .meta({ id: 'Model.Ref', description: 'Identifies a model; without a variant, the default one' })

export function toModelRef(model: z.output<typeof modelRef>): MessageInitShape<typeof ModelRefSchema> {
  return { modelId: model.id, providerId: model.providerID, variant: model.variant || undefined }
}

export function fromModelRef(model: ModelRef): JsonOf<typeof modelRef>
export function fromModelRef(model: ModelRef | undefined): JsonOf<typeof modelRef> | undefined
export function fromModelRef(model: ModelRef | undefined): JsonOf<typeof modelRef> | undefined {
  if (model === undefined) return undefined
  return { id: model.modelId, providerID: model.providerId, variant: model.variant }
}
