import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import { fromRow } from '#shared/stores/table.ts'
import { accountColumns, type accounts } from '../tables/accounts.ts'

/** What one request holds in an account while it runs. */
export interface HoldEntry {
  /** Generated for each opening: whoever removes the hold counts the cost of the request, so it is counted once. */
  readonly name: string
  readonly requestId: string
  readonly process: string
  readonly nanos: bigint
  readonly inputTokens: bigint
  readonly minute: number
  /** The request is being closed. */
  readonly ending?: boolean
  /** Its output then, for whoever has to settle it. */
  readonly outputTokens?: bigint
}

export interface AccountDocument
  extends MongoDocument<typeof accounts, { readonly workspaceId: string; readonly owner: string }> {
  readonly holds: readonly HoldEntry[]
}

export interface AccountState {
  readonly account: Account
  readonly holds: readonly HoldEntry[]
  /** 0: it is not stored yet. */
  readonly revision: number
}

const NO_ACCOUNT: AccountState = { account: EMPTY_ACCOUNT, holds: [], revision: 0 }

/** The state in a document, which must be read with `useBigInt64`. */
export function stateOf(document: AccountDocument | null): AccountState {
  if (document === null) return NO_ACCOUNT
  const { holds, revision } = document
  return { account: fromRow(accountColumns, document), holds, revision }
}
