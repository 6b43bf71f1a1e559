/** Instructions for one kind of work, which a model reads when it comes to that. */
export interface Skill {
  /** Path of its folder, relative to the folder of skills it lies in, with `/`. */
  readonly id: string
  /** For people; the id where its file gives none. */
  readonly name: string
  /** When it is of use; undefined: its file says nothing. */
  readonly description: string | undefined
  readonly text: string
  /** Absolute path of its file. What else lies in that folder belongs to it. */
  readonly path: string
}
