import type { ServiceImpl } from '@connectrpc/connect'
import {
  GetGenerationRequestSchema,
  GetKeyUsageRequestSchema,
  ListActivityRequestSchema,
  GenerationRecord_Status as Status,
  type UsageService,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { type Account, accountAt, dayOf, EMPTY_ACCOUNT } from '../domain/ledger/account.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { RowCloser } from '../run/row-closer.ts'

const DAYS = 30
const checkGet = checkLimits(GetGenerationRequestSchema)
const checkKeys = checkLimits(GetKeyUsageRequestSchema)
const checkActivity = checkLimits(ListActivityRequestSchema)

/** Handlers of the UsageService; see usage_service.proto. */
export function usageHandlers(dependencies: {
  readonly ledger: Ledger
  readonly closer: RowCloser
  readonly clock: Clock
}): ServiceImpl<typeof UsageService> {
  const { ledger, closer, clock } = dependencies
  return {
    async getGeneration(request, context) {
      checkGet(request)
      const { requestId } = request
      const { workspaceId } = principalOf(context)
      const closed = async () => {
        const row = await ledger.get(workspaceId, requestId)
        if (row === undefined) throw new Rejection('GENERATION_NOT_FOUND', { request_id: requestId })
        return row.status === Status.OPEN ? undefined : row
      }
      const first = await closed()
      if (first === undefined) await closer.settled(workspaceId, (row) => row.requestId === requestId)
      const generation = first ?? (await closed())
      if (generation === undefined) throw new Rejection('GENERATION_NOT_FOUND', { request_id: requestId })
      return { generation }
    },

    async listActivity(request, context) {
      checkActivity(request)
      const { workspaceId } = principalOf(context)
      const { date, keyId, metadataKey } = request
      const days = daysOf(date, clock.now())
      await closer.settled(workspaceId, ({ apiKeyId }) => keyId === undefined || keyId === apiKeyId)
      const activities = []
      // Day by day, so that no read delays writes for long.
      for (const day of days) activities.push(...(await ledger.activity({ workspaceId, day, keyId, metadataKey })))
      return { activities }
    },

    async getKeyUsage(request, context) {
      checkKeys(request)
      const { keyIds } = request
      const { workspaceId } = principalOf(context)
      await closer.settled(workspaceId, ({ apiKeyId }) => keyIds.includes(apiKeyId))
      const accounts = await ledger.accounts(workspaceId, keyIds)
      const spending = (i: number) => spendingOf(accounts[i] ?? EMPTY_ACCOUNT, clock.now())
      return { keys: keyIds.map((keyId, i) => ({ keyId, spending: spending(i) })) }
    },

    async getWorkspaceUsage(_, context) {
      const { workspaceId } = principalOf(context)
      await closer.settled(workspaceId, () => true)
      return { spending: spendingOf(await ledger.workspaceAccount(workspaceId), clock.now()) }
    },
  }
}

/** What an account has spent as of a time. */
function spendingOf(account: Account, now: number) {
  const { totalNanos, dayNanos, weekNanos, monthNanos, heldNanos } = accountAt(account, now)
  return { totalNanos, dayNanos, weekNanos, monthNanos, reservedNanos: heldNanos }
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
