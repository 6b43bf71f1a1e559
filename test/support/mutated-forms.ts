import { randomOf } from '#test/support/generated-conditions.ts'
import { TOKEN_FORM } from '#test/support/token-form.ts'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const MOST_BYTES = 32_768
const MOST_PARAMETERS = 32

/**
 * An independent reader of forms: the subject token of a body with everything required, once each and no more;
 * undefined if it is not such a body.
 */
export function tokenIn(body: string, policyId: string): string | undefined {
  if (Buffer.byteLength(body) > MOST_BYTES) return undefined
  const bytes = Buffer.from(body).toString('latin1')
  const pairs = bytes.split('&').filter((pair) => pair !== '')
  const names = pairs.map((pair) => decoded(pair.split('=')[0] ?? ''))
  if (pairs.length > MOST_PARAMETERS || new Set(names).size < names.length) return undefined
  const form = new Map(pairs.map((pair, at) => [names[at], decoded(pair.split('=').slice(1).join('='))]))
  const isLeftOut = (name: string): boolean => (form.get(name) ?? '') === ''
  const asks =
    form.get('grant_type') === TOKEN_FORM.grant_type &&
    form.get('subject_token_type') === TOKEN_FORM.subject_token_type &&
    form.get('federation_policy_id')?.toLowerCase() === policyId &&
    (isLeftOut('scope') || form.get('scope') === 'inference') &&
    (isLeftOut('requested_token_type') || form.get('requested_token_type') === ACCESS_TOKEN)
  return asks ? form.get('subject_token') : undefined
}

/** A string of bytes, one per character. */
function decoded(bytes: string): string {
  const unescaped = bytes.replaceAll('+', ' ').replace(/%[0-9a-f]{2}/gi, (code) => {
    return String.fromCharCode(Number.parseInt(code.slice(1), 16))
  })
  return Buffer.from(unescaped, 'latin1').toString()
}

const NAMES = [
  ...Object.keys(TOKEN_FORM),
  'scope',
  'requested_token_type',
  'audience',
  'resource',
  'client_id',
  '__proto__',
]
const VALUES = [
  '',
  'x',
  'inference',
  'Inference',
  'inference openid',
  ACCESS_TOKEN,
  '%',
  '%00',
  '%ff',
  '..',
  'null',
  '[]',
]
const SCRATCHES = ['', '&', '=', '%', '%26', '%3D', '+', ' ', ';', '[]', '\0', 'é', '\r\n', '&&', '&subject_token=']

/**
 * Makes forms that differ from a good one by little, by much, or by nothing that matters. Their text is ASCII or UTF-8.
 */
export class FormMutator {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  mutate(token: string, policyId: string): string {
    const good: [string, string][] = Object.entries({
      ...TOKEN_FORM,
      subject_token: token,
      federation_policy_id: policyId,
    })
    return this.#pick(
      () => written(good),
      () => written([...good, [this.#pick(...NAMES), this.#pick(...VALUES)]]),
      () => written([...good, this.#pick(...good)]),
      () =>
        written([...good, ...Array.from({ length: this.#below(40) }, (_, at): [string, string] => [`p${at}`, 'x'])]),
      () => written(good.toSpliced(this.#below(good.length), 1)),
      () => written(good.with(this.#below(good.length), [this.#pick(...NAMES), this.#pick(...VALUES)])),
      () => written(good.map(([name, value]) => [this.#spelled(name), this.#spelled(value)])),
      () => this.#scratched(written(good)),
      () => this.#scratched(written(good)),
      () => written([...good, ['audience', 'x'.repeat(this.#below(2 * MOST_BYTES))]]),
    )()
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<T>(...items: readonly T[]): T {
    return items[this.#below(items.length)] as T
  }

  /** Unchanged, in another case, or partly escaped. */
  #spelled(text: string): string {
    const at = this.#below(text.length)
    const byte = `%${text.charCodeAt(at).toString(16).padStart(2, '0')}`
    return this.#pick(text, text, text, text.slice(0, at) + byte + text.slice(at + 1), text.toUpperCase(), ` ${text}`)
  }

  /** Characters replaced, inserted or removed. */
  #scratched(body: string): string {
    const at = this.#below(body.length + 1)
    return body.slice(0, at) + this.#pick(...SCRATCHES) + body.slice(at + this.#pick(0, 0, 1, 2, 40))
  }
}

function written(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${name}=${value}`).join('&')
}
