import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'

/** When an input enters the conversation. */
export const deliveries = enumTable({ steer: Delivery.STEER, queue: Delivery.QUEUE })
