import type { DescField } from '@bufbuild/protobuf'
import { z } from 'zod'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { countUpTo } from '../shape.ts'

/** The `cursor` of a page; a member is absent if there is nothing more in its direction. */
export const cursor = z.strictObject({ previous: z.string().optional(), next: z.string().optional() })

const order = z.enum(['asc', 'desc'])

/** Query of a list that comes in pages. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^0{0,14}[1-9]\d{0,14}$/, 'must be an integer, at least 1')
    .optional(),
  order: order.optional().meta({ description: 'Default: desc, newest first' }),
  cursor: z.string().min(1).optional().meta({ description: '`cursor.previous` or `cursor.next` of an earlier page' }),
}

const orders = enumTable({ asc: Order.ASCENDING, desc: Order.DESCENDING })

export const toOrder: (word: z.output<typeof order>) => Order = orders.toProto

const MAX_INT32 = 2_147_483_647

/** The size of a page, at most the largest one that the service has. */
export function toPageSize(limit: string | undefined): number | undefined {
  return limit === undefined ? undefined : Math.min(Number(limit), MAX_INT32)
}

export function fromPage(page: {
  readonly nextPageToken?: string | undefined
  readonly previousPageToken?: string | undefined
}): JsonOf<typeof cursor> {
  return { previous: page.previousPageToken, next: page.nextPageToken }
}

const count = z.string().regex(/^\d{1,9}$/, 'must be an integer, at least 0')

/** Query of a list that comes in pages by number, as a request of the service has one. */
export function offsetQuery(request: PageRequest) {
  const offset = count.optional().meta({ description: 'How many to skip; default: 0' })
  return { offset, limit: pageLimit(request) }
}

/** The size of a page, at most the largest one that the service has. */
export function pageLimit({ field }: PageRequest) {
  const { most, schema } = countUpTo(field.pageSize)
  return schema.optional().meta({ description: `Maximum number; default: 50, at most ${most}` })
}

interface PageRequest {
  readonly field: { readonly pageSize: DescField }
}

/** The place and the size of a page. */
export function toOffset({
  offset,
  limit,
}: {
  readonly offset?: string | undefined
  readonly limit?: string | undefined
}) {
  return { offset: Number(offset ?? 0), pageSize: toPageSize(limit) }
}

export const listOf = <S extends z.ZodType>(item: S) =>
  z.strictObject({ data: z.array(item), total_count: z.int().min(0) })
