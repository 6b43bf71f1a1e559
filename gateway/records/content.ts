/** No text of a client holds it by chance, and nobody outside learns it. Together with a hash it looks like base64. */
const MARK = crypto.randomUUID().replaceAll('-', '').slice(0, 28)
const PLACE = new RegExp(`${MARK}[0-9a-f]{64}`)

/** Content as JSON has it. */
export function toBase64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}

/** Stands for the base64 of content that is transferred apart from its message. */
export function placeFor(hash: string): string {
  return `${MARK}${hash}`
}

/** The hash that a text stands for; undefined when it is what it is. */
export function placedHash(text: string): string | undefined {
  return text.startsWith(MARK) ? text.slice(MARK.length) : undefined
}

/** The JSON text of a value between the places of its contents: one piece more than there are of these. */
export function splitAtPlaces(json: string): readonly string[] {
  return json.split(PLACE)
}
