import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'

export interface Case {
  readonly name: string
  readonly query: Partial<SessionQuery>
  /** Times the cost at 1,000 sessions. */
  readonly goal?: number
  /** Nothing matches. */
  readonly empty?: true
}

/** Names ending in "few" match ten sessions, whatever the total, and others a fixed share. */
export const CASES: readonly Case[] = [
  { name: 'all', query: {}, goal: 2 },
  { name: 'all, ascending', query: { order: Order.ASCENDING }, goal: 2 },
  { name: 'roots, nearly all', query: { parentId: null }, goal: 2 },
  { name: 'children of one, a tenth', query: { parentId: 'ses_parent' }, goal: 2 },
  { name: 'children of one, few', query: { parentId: 'ses_few' }, goal: 2 },
  { name: 'directory, half', query: { directory: '/home/user/many' }, goal: 2 },
  { name: 'directory, few', query: { directory: '/home/user/few' }, goal: 2 },
  { name: 'project, half', query: { projectId: 'many' }, goal: 2 },
  { name: 'project, few', query: { projectId: 'few' }, goal: 2 },
  { name: 'project and subpath, a quarter', query: { projectId: 'many', subpath: 'src' }, goal: 2 },
  { name: 'project and subpath, few', query: { projectId: 'few', subpath: '' }, goal: 2 },
  { name: 'nobody’s directory', query: { directory: '/nowhere' }, goal: 2, empty: true },
  { name: 'search, all', query: { search: 'session' } },
  { name: 'search, half', query: { search: 'parser' } },
  { name: 'search, 1 in 100', query: { search: 'topic 42 ' } },
  { name: 'search, few', query: { search: 'needle' } },
  { name: 'search, none', query: { search: 'nothing like it' }, empty: true },
  { name: 'search, all the oldest tenth', query: { search: 'ancient' } },
  {
    name: 'search few, in directory of half',
    query: { search: 'needle', directory: '/home/user/many' },
    empty: true,
  },
  {
    name: 'search half, in directory of few',
    query: { search: 'parser', directory: '/home/user/few' },
    empty: true,
  },
  { name: 'search half, in the other half', query: { search: 'parser', projectId: 'other' }, empty: true },
  { name: 'search 1 in 100, roots', query: { search: 'topic 42 ', parentId: null } },
  { name: 'short search, none', query: { search: 'q!' }, empty: true },
  { name: 'directory and roots', query: { directory: '/home/user/many', parentId: null } },
  { name: 'directory and the other project', query: { directory: '/home/user/many', projectId: 'other' }, empty: true },
  { name: 'parent and project of few', query: { parentId: 'ses_parent', projectId: 'few' }, empty: true },
]
