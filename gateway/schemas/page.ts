import { orAbsent } from './common.ts'

/** The `cursor` of a page; a member is left out where there is nothing more in its direction. */
export function pageCursor(page: { readonly nextPageToken: string; readonly previousPageToken: string }) {
  return { previous: orAbsent(page.previousPageToken), next: orAbsent(page.nextPageToken) }
}
