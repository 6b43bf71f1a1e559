import { hourOf } from '#services/session/adapters/common/titles/moves-title.ts'
import { BLOCK, storedPlaces } from '#services/session/adapters/common/titles/place-sets.ts'

/** A block of the index of titles; see `MongoTitleIndex`. */
export interface TitleBlock {
  readonly _id: number
  readonly workspace: string
  /** The hours of the first and of the last activity of its sessions. */
  readonly oldest: number
  readonly newest: number
  /** How many sessions have got places in it. */
  readonly placed: number
  /** It gets no more sessions and is being removed. */
  readonly closed?: true
}

/** Some terms of a block: for each name of a term, the places of sessions that have it, as in `storedPlaces`. */
export interface TitleTerms {
  readonly _id: number
  readonly places: Readonly<Record<string, Uint8Array>>
}

/** The number of the last block, and whether a process is making one. */
export interface TitleTurn {
  readonly _id: 'blocks'
  readonly last: number
  /** Until when no other process makes one, by the server's clock. */
  readonly until: number
}

/** The index that searches read: the sessions of a workspace, starting with those that wait, newest hour first. */
export const BY_TITLE_PLACE = 'sessionsByTitlePlace'

/** How many documents the terms of a block are spread over: few are quick to write, and small ones quick to read. */
export const DOCUMENTS = 64

/** Which of these contains a term. */
export function documentOf(term: number): number {
  return term & (DOCUMENTS - 1)
}

/** The key of the document that contains a term of a block. */
export function termsKey(block: number, term: number): number {
  return block * DOCUMENTS + documentOf(term)
}

/** The block that a document of terms belongs to. */
export function blockOf(key: number): number {
  return Math.floor(key / DOCUMENTS)
}

/** The name of a term in its document. */
export function termName(term: number): string {
  return (term >>> 0).toString(36)
}

/** The places of some terms, as they are stored. */
export function namedPlaces(terms: ReadonlyMap<number, readonly number[]>): TitleTerms['places'] {
  return Object.fromEntries([...terms].map(([term, places]) => [termName(term), storedPlaces(places)]))
}

/** The keys of all documents with terms of a block. */
export function termsKeys(block: number): { readonly $gte: number; readonly $lt: number } {
  return { $gte: block * DOCUMENTS, $lt: (block + 1) * DOCUMENTS }
}

/** All places of a block. */
export function placesOf(block: number): { readonly $gte: number; readonly $lt: number } {
  return { $gte: block * BLOCK, $lt: (block + 1) * BLOCK }
}

/** The place of sessions that wait for the index, by the hour of their last activity; and the hour of such a place. */
export function waitingInHour(hour: number): number {
  return -1 - hour
}

/** The place of a session that waits for the index. */
export function waitingPlace(timeUpdated: number): number {
  return waitingInHour(hourOf(timeUpdated))
}
