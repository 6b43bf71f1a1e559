import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type IssuerSchema,
  type IssuerSettings as IssuerSettingsMessage,
  IssuerSettingsSchema,
  type KeyHealthSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { IssuerSettings, KeyHealth, KeySource } from '#services/identity/domain/issuer.ts'
import type { ListedIssuer } from '#services/identity/ports/federation-store.ts'

export function issuerToProto({ issuer, health }: ListedIssuer): MessageInitShape<typeof IssuerSchema> {
  const isFetched = issuer.keySource.kind !== 'inline'
  return {
    issuerId: issuer.id,
    settings: issuerSettingsToProto(issuer),
    revision: BigInt(issuer.revision),
    createTime: timestampFromMs(issuer.timeCreated),
    updateTime: timestampFromMs(issuer.timeUpdated),
    ...(health !== undefined && isFetched && { keyHealth: healthToProto(health) }),
  }
}

export function issuerSettingsToProto(settings: IssuerSettings): IssuerSettingsMessage {
  const { name, url, keySource, singleUse, maxAgeSeconds } = settings
  return create(IssuerSettingsSchema, {
    name,
    issuerUrl: url,
    singleUse,
    keySource: keySourceToProto(keySource),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
  })
}

/** Converts the settings in a message, whether or not they may be saved. */
export function issuerSettingsFromProto(message: IssuerSettingsMessage): IssuerSettings {
  const { name, issuerUrl: url, keySource, singleUse, maxAgeSeconds } = message
  return { name, url, keySource: keySourceFromProto(keySource), singleUse, maxAgeSeconds }
}

function keySourceToProto(source: KeySource): NonNullable<MessageInitShape<typeof IssuerSettingsSchema>['keySource']> {
  if (source.kind === 'discovery') return { case: 'discovery', value: {} }
  return source.kind === 'url' ? { case: 'jwksUrl', value: source.url } : { case: 'jwks', value: source.jwks }
}

function keySourceFromProto(source: IssuerSettingsMessage['keySource']): KeySource {
  if (source.case === 'jwksUrl') return { kind: 'url', url: source.value }
  return source.case === 'jwks' ? { kind: 'inline', jwks: source.value } : { kind: 'discovery' }
}

function healthToProto(health: KeyHealth): MessageInitShape<typeof KeyHealthSchema> {
  const { timeSucceeded, timeFailed, failure, timeNextTry } = health
  return {
    ...(timeSucceeded !== undefined && { lastSuccessTime: timestampFromMs(timeSucceeded) }),
    ...(timeFailed !== undefined && { lastFailureTime: timestampFromMs(timeFailed) }),
    ...(failure !== undefined && { lastFailure: failure }),
    ...(timeNextTry !== undefined && { nextTryTime: timestampFromMs(timeNextTry) }),
  }
}
