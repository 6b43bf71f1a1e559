import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import { fromRow } from '#shared/stores/table.ts'
import { accountColumns, type accounts, type HoldEntry } from '../tables/accounts.ts'

export type AccountDocument = MongoDocument<typeof accounts, { readonly workspaceId: string; readonly owner: string }>

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
