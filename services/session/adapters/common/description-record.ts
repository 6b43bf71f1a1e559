import type { Write } from '#services/session/domain/write.ts'
import { foldCase } from './fold-case.ts'

/** What a session is called and what clients said of it, as far as it changes. */
export function descriptionRecord({ title, metadata, permissions }: Extract<Write, { type: 'describe' }>) {
  return {
    ...(title === undefined ? {} : titleRecord(title)),
    ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
    ...(permissions === undefined ? {} : { permissions: JSON.stringify(permissions) }),
  }
}

/** A title as it is stored. */
export function titleRecord(title: string | undefined): { title: string | null; titleSearch: string | null } {
  return { title: title ?? null, titleSearch: title === undefined ? null : foldCase(title) }
}
