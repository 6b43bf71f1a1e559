import { z } from 'zod'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { sessionParameter } from '../records/ids.ts'
import { toModelRef } from '../records/model.ts'
import { toUpdateSession } from './mappers.ts'
import { switchAgentBody, switchModelBody, updateSessionBody, viewSessionBody } from './schemas.ts'

const params = z.object({ sessionID: sessionParameter })

export const updateSession = operation({
  id: 'session.update',
  method: 'patch',
  path: '/api/session/{sessionID}',
  summary: 'Changes the title, the metadata or the permissions',
  description: 'Given members are replaced as a whole; absent and null ones do not change.',
  params,
  body: updateSessionBody,
  answer: noContent,
  errors: ['REQUEST_INVALID'],
  handle: ({ session }, { params, body, call }) =>
    session.updateSession(toUpdateSession(params.sessionID, body), call.options()),
})

export const viewSession = operation({
  id: 'session.view',
  method: 'post',
  path: '/api/session/{sessionID}/view',
  summary: 'Records that the end of a run was seen',
  description: '`time.viewed` moves up to the given time, never back, nor past `time.idle`.',
  params,
  body: viewSessionBody,
  answer: noContent,
  handle: ({ session }, { params, body, call }) =>
    session.viewSession({ sessionId: params.sessionID, idleTime: body.idle }, call.options()),
})

export const switchAgent = operation({
  id: 'session.switchAgent',
  method: 'post',
  path: '/api/session/{sessionID}/agent',
  summary: 'Selects the agent for subsequent provider calls',
  params,
  body: switchAgentBody,
  answer: noContent,
  errors: ['REQUEST_INVALID'],
  handle: ({ session }, { params, body, call }) =>
    session.switchSessionAgent({ sessionId: params.sessionID, agent: body.agent }, call.options()),
})

export const switchModel = operation({
  id: 'session.switchModel',
  method: 'post',
  path: '/api/session/{sessionID}/model',
  summary: 'Selects the model for subsequent provider calls',
  params,
  body: switchModelBody,
  answer: noContent,
  errors: ['REQUEST_INVALID'],
  handle: ({ session }, { params, body, call }) =>
    session.switchSessionModel({ sessionId: params.sessionID, model: toModelRef(body.model) }, call.options()),
})
