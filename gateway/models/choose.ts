import type { Model, Pricing } from '#gen/portico/inference/v1/inference_pb.js'
import { toCost } from '../records/usage.ts'
import type { ModelsQuery } from './schemas.ts'

type Filter = Omit<ModelsQuery, 'offset' | 'limit'>

/** The models that a query selects, in its order. A model whose price or length is unknown meets no bound on it. */
export function chooseModels(models: readonly Model[], query: Filter): readonly Model[] {
  return inOrder(
    models.filter((model) => isWanted(model, query)),
    query.sort,
  )
}

function isWanted(model: Model, query: Filter): boolean {
  const { name, displayName, providerId, inputModalities, outputModalities, supportedParameters } = model
  const text = query.q?.toLowerCase() ?? ''
  return (
    (name.toLowerCase().includes(text) || displayName.toLowerCase().includes(text)) &&
    hasAll(supportedParameters, query.supported_parameters) &&
    hasAll(inputModalities, query.input_modalities) &&
    hasAll(outputModalities, query.output_modalities) &&
    isOneOf(providerId, query.model_authors) &&
    isOneOf(providerId, query.providers) &&
    (query.zdr !== 'true' || model.retainsNothing) &&
    (query.distillable === undefined || model.distillable === (query.distillable === 'true')) &&
    (query.context === undefined || (model.contextLength ?? 0) >= Number(query.context)) &&
    isPriced(model.pricing, 'inputNanos', query.min_price, query.max_price) &&
    isPriced(model.pricing, 'outputNanos', query.min_output_price, query.max_output_price)
  )
}

const wordsOf = (list: string): string[] =>
  list
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')

function hasAll(has: readonly string[], list = ''): boolean {
  return wordsOf(list).every((word) => word === 'all' || has.includes(word))
}

function isOneOf(word: string, list = ''): boolean {
  const words = wordsOf(list)
  return words.length === 0 || words.includes(word)
}

function isPriced(pricing: Pricing | undefined, member: 'inputNanos' | 'outputNanos', least?: string, most?: string) {
  if (least === undefined && most === undefined) return true
  const price = pricing?.[member]
  if (price === undefined) return false
  return price >= toCost(Number(least ?? 0)) && (most === undefined || price <= toCost(Number(most)))
}

const UNKNOWN_PRICE = 2n ** 62n

function inOrder(models: readonly Model[], sort: string | undefined): readonly Model[] {
  const price = ({ pricing }: Model): bigint => pricing?.inputNanos ?? UNKNOWN_PRICE
  const by = (value: (model: Model) => bigint | number) =>
    models.toSorted((one, other) => Number(value(one) > value(other)) - Number(value(one) < value(other)))
  switch (sort) {
    case 'pricing-low-to-high':
      return by(price)
    case 'pricing-high-to-low':
      return by((model) => -(model.pricing?.inputNanos ?? -1n))
    case 'context-high-to-low':
      return by((model) => -(model.contextLength ?? 0))
    default:
      return models
  }
}
