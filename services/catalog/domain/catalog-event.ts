/** Something that changed in an open location. */
export interface CatalogEvent {
  readonly id: string
  /** When it was noticed, in milliseconds since the epoch. */
  readonly timeCreated: number
  readonly directory: string
  readonly type: 'agents-updated' | 'skills-updated'
}
