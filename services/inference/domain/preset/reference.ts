/**
 * RFC 3986's unreserved characters, so that a slug is the same in a path and in a request; `.` and `..` have a meaning
 * in paths.
 */
const SLUG = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,256}$/
const MARK = '@preset/'

export function isSlug(text: string): boolean {
  return SLUG.test(text)
}

/** The model of a request: a model, a preset (`@preset/slug`), or both (`model@preset/slug`). */
export interface NamedModel {
  /** Undefined: none. */
  readonly model: string | undefined
  /** Slug of the preset, as it was given; undefined: none. */
  readonly slug: string | undefined
}

/** Parses the model of a request. */
export function namedModel(model: string | undefined): NamedModel {
  const at = model?.indexOf(MARK) ?? -1
  if (model === undefined || at < 0) return { model, slug: undefined }
  return { model: model.slice(0, at) || undefined, slug: model.slice(at + MARK.length) }
}
