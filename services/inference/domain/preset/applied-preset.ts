/** The version of a preset that a request was served with. */
export interface AppliedPreset {
  readonly presetId: string
  readonly slug: string
  readonly version: number
}
