/**
 * Splits a Markdown text into the YAML between its first two `---` lines and the body, both trimmed. A text that does
 * not begin with such a line is all body, and so is one whose front matter does not end.
 */
export function splitFrontMatter(text: string): { readonly matter: string; readonly body: string } {
  const normal = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  if (!normal.startsWith('---\n')) return { matter: '', body: normal.trim() }
  const end = normal.startsWith('---\n', 4) || normal === '---\n---' ? 3 : normal.search(/\n---[ \t]*(\n|$)/)
  if (end === -1) return { matter: '', body: normal.trim() }
  const afterFence = normal.indexOf('\n', end + 1)
  return { matter: normal.slice(4, Math.max(4, end)), body: afterFence === -1 ? '' : normal.slice(afterFence).trim() }
}
