import { typeOfWord } from './error-types.ts'
import { listAt, objectAt } from './json.ts'

interface SaidError {
  /** Empty: nothing that can be read. */
  readonly message: string
  /** Empty: none. */
  readonly code: string
  /** The status that it names itself; undefined: none. */
  readonly status: number | undefined
}

/**
 * Reads the body of an error: its message (`error.message`, `error`, `message`, `detail` or `detail[0].msg`) and its
 * code (`error.code`, `error.type` or `code`). Google's servers put it in a list.
 */
export function errorIn(body: string): SaidError {
  const parsed = parsedOf(body)
  if (parsed === undefined) return { message: /^\s*[<{[]/.test(body) ? '' : body.trim(), code: '', status: undefined }
  const { error, message, detail, code } = objectAt(Array.isArray(parsed) ? parsed[0] : parsed) ?? {}
  const inner = objectAt(error)
  return {
    message: wordIn([inner?.message, error, message, detail, objectAt(listAt(detail)[0])?.msg]),
    code: wordIn([inner?.code, inner?.type, code]),
    status: statusOf(inner?.code ?? code),
  }
}

/** The status that an error stands for: the one that it names, or 400 if its code is known; undefined: none. */
export function statusIn({ status, code }: Pick<SaidError, 'status' | 'code'>): number | undefined {
  return status ?? (typeOfWord(code) === undefined ? undefined : 400)
}

/** An error code that is a status, which may be written as a text; undefined: it is none. */
export function statusOf(code: unknown): number | undefined {
  const number = Number(code)
  return number >= 400 && number <= 599 ? number : undefined
}

function parsedOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function wordIn(values: readonly unknown[]): string {
  const word = values.find((value) => typeof value === 'string')
  return typeof word === 'string' ? word : ''
}
