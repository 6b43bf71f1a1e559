import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExchangeStep_Verdict } from '#gen/portico/identity/v1/federation_pb.js'
import type { PublicKey } from '#services/identity/domain/public-key.ts'
import { readSubjectToken } from '#services/identity/domain/subject-token/read-subject-token.ts'
import { checkExpiry } from '#services/identity/domain/subject-token/rules.ts'
import { JoseSignatures } from './jose-signatures.ts'

const PAYLOAD = 'eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
/** RFC 7515, appendices A.2 and A.3. */
const VECTORS = [
  {
    algorithm: 'RS256',
    token:
      `eyJhbGciOiJSUzI1NiJ9.${PAYLOAD}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W` +
      '2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN' +
      '9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrB' +
      'p0igcN_IoypGlUPQGe77Rw',
    key: {
      kty: 'RSA',
      n:
        'ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMs' +
        'D1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdV' +
        'MTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ',
      e: 'AQAB',
    },
  },
  {
    algorithm: 'ES256',
    token: `eyJhbGciOiJFUzI1NiJ9.${PAYLOAD}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q`,
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
  },
] as const

test('verifies the vectors of RFC 7515, which expired in 2011', async () => {
  const signatures = new JoseSignatures()
  for (const { algorithm, token, key } of VECTORS) {
    const read = readSubjectToken(token)
    assert.ok('token' in read)
    const { claims } = read.token
    assert.equal(await signatures.verify(token, algorithm, [key]), true)
    assert.equal(checkExpiry(claims, 1_300_819_379_000, undefined).verdict, ExchangeStep_Verdict.PASSED)
    assert.equal(checkExpiry(claims, 1_300_819_380_000, undefined).verdict, ExchangeStep_Verdict.FAILED)
  }
})

test('refuses any other text, signature, key or algorithm', async () => {
  const signatures = new JoseSignatures()
  const [rsa, ec] = VECTORS
  for (const { algorithm, token, key } of VECTORS) {
    const [header = '', payload = '', signature = ''] = token.split('.')
    const changed = Buffer.from(signature, 'base64url')
    changed[7] = (changed[7] ?? 0) ^ 1
    const [otherAlgorithm, other] = algorithm === 'ES256' ? (['RS256', rsa.key] as const) : (['ES256', ec.key] as const)
    const isVerified = (text: string, keys: readonly PublicKey[]) => signatures.verify(text, algorithm, keys)
    assert.equal(await isVerified(`${header}.${payload}A.${signature}`, [key]), false)
    assert.equal(await isVerified(`${header}.${payload}.${changed.toString('base64url')}`, [key]), false)
    assert.equal(await isVerified(`${header}.${payload}.`, [key]), false)
    assert.equal(await isVerified(`${header}.${payload}`, [key]), false)
    assert.equal(await isVerified(token, [other]), false)
    assert.equal(await isVerified(token, []), false)
    assert.equal(await isVerified(token, [other, key]), true)
    assert.equal(await signatures.verify(token, otherAlgorithm, [other, key]), false)
  }
})

test('refuses a key that is off the curve, too short or not in base64url', async () => {
  const signatures = new JoseSignatures()
  const [rsa, ec] = VECTORS
  for (const [{ algorithm, token }, key] of [
    [ec, { ...ec.key, y: ec.key.x }],
    [ec, { ...ec.key, x: '' }],
    [ec, { ...ec.key, x: '!' }],
    [rsa, { ...rsa.key, n: 'AQAB' }],
    [rsa, { ...rsa.key, e: '' }],
    [rsa, { ...rsa.key, n: rsa.key.n.slice(0, 171) }],
  ] as const) {
    assert.equal(await signatures.verify(token, algorithm, [key as PublicKey]), false)
  }
})
