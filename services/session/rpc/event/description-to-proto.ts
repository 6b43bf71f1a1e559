import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { SessionEventSchema, SessionUsageSchema } from '#gen/portico/session/v1/event_pb.js'
import type { DurableEventData, Usage } from '#services/session/domain/event.ts'
import { rulesToProto, tokensToProto } from '../session/session-to-proto.ts'

type Init = NonNullable<MessageInitShape<typeof SessionEventSchema>['event']>

type DescriptionType =
  | 'session-renamed'
  | 'session-metadata-updated'
  | 'session-permissions-updated'
  | 'session-viewed'
  | 'usage-recorded'

type UsageInit = MessageInitShape<typeof SessionUsageSchema>

/** The usage in an event, if it has any, as a field with that name. */
export function usageToProto<K extends string>(name: K, usage: Usage | undefined): Partial<Record<K, UsageInit>> {
  if (usage === undefined) return {}
  const { costNanos, tokens } = usage
  return { [name]: { costNanos, tokens: tokensToProto(tokens) } } as Record<K, UsageInit>
}

/**
 * An event about the title, the metadata or the rules of a session, about a view of it, or about the cost of its title.
 */
export function descriptionToProto(data: Extract<DurableEventData, { type: DescriptionType }>): Init {
  switch (data.type) {
    case 'session-renamed':
      return { case: 'sessionRenamed', value: { title: data.title } }
    case 'session-metadata-updated':
      return { case: 'sessionMetadataUpdated', value: { metadata: data.metadata } }
    case 'session-permissions-updated':
      return { case: 'sessionPermissionsUpdated', value: { permissions: rulesToProto(data.permissions) } }
    case 'session-viewed':
      return { case: 'sessionViewed', value: { idleTime: timestampFromMs(data.timeIdle) } }
    case 'usage-recorded': {
      const { purpose: source, costNanos, tokens, sessionUsage } = data
      const used = { costNanos, tokens: tokensToProto(tokens), ...usageToProto('sessionUsage', sessionUsage) }
      return { case: 'usageRecorded', value: { source, ...used } }
    }
  }
}
