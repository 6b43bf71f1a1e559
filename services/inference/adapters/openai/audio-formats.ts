/** The names that chat completions have for formats of sound, by media type. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
  ['audio/flac', 'flac'],
  ['audio/mp4', 'm4a'],
  ['audio/m4a', 'm4a'],
  ['audio/ogg', 'ogg'],
  ['audio/aac', 'aac'],
  ['audio/aiff', 'aiff'],
  ['audio/opus', 'opus'],
  ['audio/l16', 'pcm16'],
  ['audio/l24', 'pcm24'],
])

/** The format of a media type; undefined: chat completions have no name for it. */
export function audioFormatOf(mime: string): string | undefined {
  const [type = ''] = mime.toLowerCase().split(';')
  return FORMATS.get(type.trim().replace('/x-', '/'))
}
