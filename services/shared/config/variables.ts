import { z } from 'zod'
import { maskCredentials } from '#shared/config/config-print.ts'

/** Environment variables of a process. Only `config.ts` files and entry files read the real ones. */
export type Environment = Readonly<Record<string, string | undefined>>

/** How many characters of a value an error message quotes. */
const MOST_REPEATED = 100

/**
 * The error message for a variable that holds no secret: what it must be, and what it is. Credentials in URLs are
 * masked.
 */
export function mustBe(what: string) {
  const error = ({ input }: { readonly input?: unknown }): string =>
    `must be ${what}, not ${maskCredentials(String(input)).slice(0, MOST_REPEATED)}`
  return { error }
}

/** A TCP port; 0 lets the system choose a free one. */
export const portVariable = () => integerVariable({ min: 0, max: 65_535 })

/** An integer within limits, in decimal digits. Unlike lenient parsers it refuses `12abc` and `1e3`. */
export function integerVariable({ min, max }: { readonly min: number; readonly max: number }) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, mustBe('a whole number'))
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, mustBe(`at least ${min}`))
        .max(max, mustBe(`at most ${max}`)),
    )
}

/** A switch: `true`, `on` or `1`; `false`, `off` or `0`. */
export const booleanVariable = () =>
  z
    .enum(['true', 'on', '1', 'false', 'off', '0'], mustBe('true or false'))
    .transform((value) => ['true', 'on', '1'].includes(value))

/** An absolute http or https URL; trailing slashes are removed. */
export const urlVariable = () =>
  z
    .string()
    .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'must be an http:// or https:// URL')
    .transform((value) => value.replace(/\/+$/, ''))

/** The address of a service: `http://host:port`. Services speak HTTP/2 without TLS, and serve no other path. */
export const peerUrlVariable = () =>
  z
    .string()
    .refine((value) => {
      const url = URL.parse(value)
      return url?.protocol === 'http:' && url.href === `${url.origin}/`
    }, mustBe('http://host:port, without TLS and without a path'))
    .transform((value) => value.replace(/\/+$/, ''))

/** The setting with the address of a service. */
export function peerVariable(peer: string): string {
  return `PORTICO_${peer.toUpperCase()}_URL`
}

/** A JSON value, checked by a schema. */
export function jsonVariable<S extends z.ZodType>(schema: S) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch {
        context.addIssue({ code: 'custom', message: 'must be valid JSON' })
        return z.NEVER
      }
    })
    .pipe(schema)
}
