import type { Write } from '#services/session/domain/write.ts'
import { foldCase } from './fold-case.ts'

/** The title, metadata and rules of a session, as far as they change. */
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
