import { KeyTerms_ResponsesDialect as DialectMessage } from '#gen/portico/identity/v1/identity_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'

export const responsesDialects = enumTable({
  both: DialectMessage.BOTH,
  openai: DialectMessage.OPENAI,
  specification: DialectMessage.SPECIFICATION,
})

/**
 * Which events a stream of responses has: those of the specification, those of OpenAI's schema, or both, where the
 * events that both know come once, with the members of both.
 */
export type ResponsesDialect = (typeof responsesDialects.names)[number]
