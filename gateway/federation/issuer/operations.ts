import { z } from 'zod'
import { byStatus, noContent } from '#gateway/kinds.ts'
import { operation } from '#gateway/operation.ts'
import { listOf, offsetQuery, toOffset } from '#gateway/records/page.ts'
import { ListIssuersRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { issuerId, maskOf, ORGANIZATION_PATH, ofOrganization, publicField, warnings } from '../common.ts'
import { fromIssuer, toIssuerSettings } from './mappers.ts'
import { createIssuerBody, issuer, updateIssuerBody } from './schemas.ts'

const LIST_PATH = `${ORGANIZATION_PATH}/issuers` as const
const PATH = `${LIST_PATH}/{issuerID}` as const
const params = ofOrganization.extend({ issuerID: issuerId.meta({ description: 'Issuer' }) })
const SETTINGS = ['name', 'issuer_url', 'jwks_url', 'jwks', 'single_use', 'max_age_seconds'] as const
const answer = z.strictObject({ data: issuer })

export const listIssuers = operation({
  id: 'issuers.list',
  method: 'get',
  path: LIST_PATH,
  params: ofOrganization,
  summary: 'The issuers of an organization, oldest first, with the health of their keys',
  query: z.object(offsetQuery(ListIssuersRequestSchema)),
  answer: listOf(issuer),
  handle: ({ federation }, { params: { organizationID: organizationId }, query, call }) =>
    federation.listIssuers({ organizationId, ...toOffset(query) }, call.options()),
  present: ({ issuers, totalSize }) => ({ data: issuers.map(fromIssuer), total_count: totalSize }),
})

export const createIssuer = operation({
  id: 'issuers.create',
  method: 'post',
  path: LIST_PATH,
  params: ofOrganization,
  summary: 'Registers an identity provider whose tokens are exchanged',
  description:
    'The keys are not fetched yet: `key_health` shows whether they can be, after the first exchange or test of a token.',
  body: createIssuerBody,
  answer: byStatus({ 201: answer }),
  errors: ['PLAN_REQUIRED', 'TOO_MANY_ISSUERS', 'REQUEST_INVALID'],
  handle: ({ federation }, { params: { organizationID: organizationId }, body, call }) =>
    federation.createIssuer({ organizationId, settings: toIssuerSettings(body) }, call.options()),
  present: ({ issuer }) => ({ status: 201, body: { data: fromIssuer(issuer) } }),
  publicField,
})

export const getIssuer = operation({
  id: 'issuers.get',
  method: 'get',
  path: PATH,
  params,
  summary: 'One issuer',
  answer,
  handle: ({ federation }, { params: { organizationID: organizationId, issuerID: issuerId }, call }) =>
    federation.getIssuer({ organizationId, issuerId }, call.options()),
  present: ({ issuer }) => ({ data: fromIssuer(issuer) }),
})

export const updateIssuer = operation({
  id: 'issuers.update',
  method: 'patch',
  path: PATH,
  params,
  summary: 'Changes an issuer, which takes effect with the next exchange of every replica',
  body: updateIssuerBody,
  answer: z.strictObject({ data: issuer, warnings }),
  errors: ['PLAN_REQUIRED', 'REQUEST_INVALID'],
  handle: ({ federation }, { params: { organizationID: organizationId, issuerID: issuerId }, body, call }) => {
    const request = { organizationId, issuerId, settings: toIssuerSettings(body), updateMask: maskOf(body, SETTINGS) }
    return federation.updateIssuer(request, call.options())
  },
  present: ({ issuer, warnings }) => ({ data: fromIssuer(issuer), warnings }),
  publicField,
})

export const deleteIssuer = operation({
  id: 'issuers.delete',
  method: 'delete',
  path: PATH,
  params,
  summary: 'Deletes an issuer; its policies remain, and refuse. Access tokens that were issued remain valid',
  answer: noContent,
  handle: ({ federation }, { params: { organizationID: organizationId, issuerID: issuerId }, call }) =>
    federation.deleteIssuer({ organizationId, issuerId }, call.options()),
})
