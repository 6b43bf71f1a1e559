import { z } from 'zod'
import type { Model } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import type { Clients } from '../clients.ts'
import { operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { chooseModels } from './choose.ts'
import { fromEndpoints, fromModel, fromPage, fromProvider, fromRetrieved } from './mappers.ts'
import {
  model,
  modelEndpoints,
  modelPage,
  modelsQuery,
  outputQuery,
  provider,
  retrievedModel,
  userQuery,
} from './schemas.ts'

const common = { method: 'get' } as const
const PATH = '/api/v1/models'
const DEFAULT_LIMIT = 500

const ofModel = z.object({
  author: nameParameter('Provider, as the first part of the id of a model'),
  slug: nameParameter('The rest of the id'),
})
const byId = z.object({ id: nameParameter('Id of a model, with its slashes encoded') })

export const listModels = operation({
  ...common,
  id: 'models.list',
  path: PATH,
  summary: 'The listed models, in order of configuration; providers may serve more',
  query: modelsQuery,
  answer: modelPage,
  async handle({ inference }, { query, call }) {
    const { models } = await inference.listModels({}, call.options())
    return pageOf(chooseModels(models, query), PATH, query)
  },
  present: fromPage,
})

export const countModels = operation({
  ...common,
  id: 'models.count',
  path: `${PATH}/count`,
  summary: 'The number of listed models',
  query: outputQuery,
  answer: z.strictObject({ data: z.strictObject({ count: z.int() }) }),
  async handle({ inference }, { query, call }) {
    const { models } = await inference.listModels({}, call.options())
    return chooseModels(models, query).length
  },
  present: (count) => ({ data: { count } }),
})

export const listUserModels = operation({
  ...common,
  id: 'models.listUser',
  path: `${PATH}/user`,
  summary: 'The models that the key may use',
  query: userQuery,
  answer: modelPage,
  async handle({ inference }, { query, call }) {
    const { models } = await inference.listModels({ allowed: call.terms?.allowedModels ?? [] }, call.options())
    return pageOf(chooseModels(models, query), `${PATH}/user`, query)
  },
  present: fromPage,
})

export const getModel = operation({
  ...common,
  id: 'models.get',
  path: '/api/v1/model/{author}/{slug}',
  params: ofModel,
  summary: 'One model',
  answer: z.strictObject({ data: model }),
  errors: ['ROUTE_NOT_FOUND'],
  handle: (clients, { params, call }) => findModel(clients, nameOf(params), call),
  present: (answer) => ({ data: fromModel(answer) }),
})

export const retrieveModel = operation({
  ...common,
  id: 'models.retrieve',
  path: `${PATH}/{author}/{slug}`,
  params: ofModel,
  summary: 'One model, where clients of OpenAI and Anthropic look for it',
  answer: retrievedModel,
  errors: ['ROUTE_NOT_FOUND'],
  handle: (clients, { params, call }) => findModel(clients, nameOf(params), call),
  present: fromRetrieved,
})

export const retrieveModelById = operation({
  ...common,
  id: 'models.retrieveById',
  path: `${PATH}/{id}`,
  params: byId,
  summary: 'The same, with the id as their SDKs send it',
  answer: retrievedModel,
  errors: ['ROUTE_NOT_FOUND'],
  handle: (clients, { params, call }) => findModel(clients, params.id, call),
  present: fromRetrieved,
})

export const listEndpoints = operation({
  ...common,
  id: 'models.endpoints',
  path: `${PATH}/{author}/{slug}/endpoints`,
  params: ofModel,
  summary: 'The endpoints of a model',
  answer: z.strictObject({ data: modelEndpoints }),
  errors: ['ROUTE_NOT_FOUND'],
  handle: (clients, { params, call }) => findModel(clients, nameOf(params), call),
  present: (endpoints) => ({ data: fromEndpoints(endpoints) }),
})

export const listGatewayProviders = operation({
  ...common,
  id: 'providers.list',
  path: '/api/v1/providers',
  summary: 'The providers, in order of configuration',
  answer: z.strictObject({ data: z.array(provider) }),
  handle: ({ inference }, { call }) => inference.listModels({}, call.options()),
  present: ({ providers }) => ({ data: providers.map(fromProvider) }),
})

interface PageQuery {
  readonly offset?: string | undefined
  readonly limit?: string | undefined
}

function pageOf(models: readonly Model[], path: string, query: PageQuery) {
  const offset = Number(query.offset ?? 0)
  const limit = Number(query.limit ?? DEFAULT_LIMIT)
  const end = offset + limit
  const parameters = Object.entries({ ...query, offset: String(end), limit: String(limit) }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const next = end < models.length ? `${path}?${new URLSearchParams(parameters)}` : null
  return { models: models.slice(offset, end), next, total: models.length }
}

const nameOf = ({ author, slug }: z.output<typeof ofModel>): string => `${author}/${slug}`

async function findModel({ inference }: Clients, name: string, call: Call): Promise<Model> {
  const { models } = await inference.listModels({}, call.options())
  const match = models.find((model) => model.name === name)
  if (match === undefined) throw new Rejection('ROUTE_NOT_FOUND', { hint: `The model "${name}" is not listed` })
  return match
}
