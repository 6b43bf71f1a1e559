import type { IndexDescription } from 'mongodb'

export const INDEXES: Readonly<Record<string, readonly IndexDescription[]>> = {
  'identity.exchange_counts': [{ key: { timeForgotten: 1 }, expireAfterSeconds: 0 }],
  'identity.issuers': [{ key: { organizationId: 1, seq: 1 }, unique: true }],
  'identity.policies': [{ key: { organizationId: 1, seq: 1 }, unique: true }],
  'identity.audit': [
    { key: { '_id.organization': 1, '_id.position': 1 } },
    { key: { '_id.organization': 1, time: 1 } },
    ...['policyId', 'issuerId', 'kind'].map((name) => ({
      key: { '_id.organization': 1, [name]: 1, '_id.position': 1 } as const,
    })),
    ...['event.reason', 'event.subject', 'event.target.keyId', 'event.resourceId'].map((name) => ({
      key: { '_id.organization': 1, [name]: 1, '_id.position': 1 } as const,
      partialFilterExpression: { [name]: { $exists: true } },
    })),
  ],
  'identity.replay_claims': [{ key: { until: 1 }, expireAfterSeconds: 0 }],
}
