import type { ServiceImpl } from '@connectrpc/connect'
import { ListActivityRequestSchema, type UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { dayOf } from '#services/inference/domain/ledger/account.ts'
import type { Ledger } from '#services/inference/ports/ledger.ts'
import type { RowCloser } from '#services/inference/run/row-closer.ts'
import type { Clock } from '#shared/clock.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { activityToProto } from './convert.ts'

const DAYS = 30
const checkRequest = checkLimits(ListActivityRequestSchema)

/** Sums rows by day, provider and model; see usage_service.proto. */
export function listActivity(dependencies: {
  readonly ledger: Ledger
  readonly closer: RowCloser
  readonly clock: Clock
}): ServiceImpl<typeof UsageService>['listActivity'] {
  const { ledger, closer, clock } = dependencies
  return async (request, context) => {
    checkRequest(request)
    const { workspaceId: workspace } = principalOf(context)
    const { date, keyId, metadataKey } = request
    const days = daysOf(date, clock.now())
    await closer.settled(workspace, ({ apiKeyId }) => keyId === undefined || keyId === apiKeyId)
    const activities = []
    // Day by day, so that no read delays writes for long.
    for (const day of days) {
      const sums = await ledger.activity({ workspace, day, keyId, metadataKey })
      for (const sum of sums) activities.push(activityToProto(day, sum))
    }
    return { activities }
  }
}

/** The requested days, the latest first. */
function daysOf(date: string | undefined, now: number): number[] {
  const today = dayOf(now)
  if (date === undefined) return Array.from({ length: DAYS }, (_, i) => today - i)
  const time = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : Number.NaN
  const isDate = !Number.isNaN(time) && new Date(time).toISOString().startsWith(date)
  check(isDate, 'date', 'must be a date, as YYYY-MM-DD')
  const day = dayOf(time)
  check(day <= today && day > today - DAYS, 'date', `must be one of the last ${DAYS} UTC days`)
  return [day]
}
