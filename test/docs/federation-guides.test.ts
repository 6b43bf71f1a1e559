import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CelConditions } from '#services/identity/adapters/cel/cel-conditions.ts'
import { sharedIssuerWarning } from '#services/identity/domain/shared-issuer.ts'
import { readSubjectToken } from '#services/identity/domain/subject-token/read-subject-token.ts'
import { STEP_NAMES } from '#services/identity/domain/subject-token/step.ts'
import { groundWith, openExchange } from '#test/support/exchange.ts'
import { signToken } from '#test/support/subject-tokens.ts'

const folder = fileURLToPath(new URL('../../docs/federation/', import.meta.url))
const guides = readdirSync(folder).filter((name) => name !== 'README.md')
const conditions = new CelConditions()

/** The blocks of a guide in that language. */
const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(/^```([^\n]+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, block = '']) =>
    name === language ? [block] : [],
  )

test('each provider has a guide, and the list has them all', () => {
  const listed = [...readFileSync(`${folder}README.md`, 'utf8').matchAll(/\]\(([a-z-]+\.md)\)/g)].map(
    ([, name]) => name,
  )
  assert.deepEqual(listed.toSorted(), guides.toSorted())
  assert.equal(guides.length, 7)
})

test('the table of refusals has every reason', () => {
  const [, table = ''] = readFileSync(`${folder}README.md`, 'utf8').split('| Reason |')
  const reasons = [...table.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name)
  for (const name of [...STEP_NAMES, 'issuer_keys']) assert.ok(name === 'form' || reasons.includes(name), name)
})

for (const name of guides) {
  describe(name, () => {
    const text = readFileSync(`${folder}${name}`, 'utf8')
    const url = /Issuer URL \| `([^`]+)`/.exec(text)?.[1] ?? ''
    const audience = /^Audience: `([^`]+)`$/m.exec(text)?.[1] ?? ''
    const subject = /^Subject: `([^`]+)`$/m.exec(text)?.[1]
    const [condition] = blocksOf(text, 'cel')

    test('the policy pins the subject, and its condition is accepted', () => {
      assert.ok(subject !== undefined || condition !== undefined)
      const inline = [...text.matchAll(/condition `([^`]+)`/g)].map(([, one = '']) => one)
      for (const one of [condition ?? [], inline].flat()) {
        const read = conditions.read(one)
        assert.ok('pinsSubject' in read, JSON.stringify(read))
        assert.equal(
          sharedIssuerWarning(url, (names) => read.pinsSubject(names)),
          undefined,
          one,
        )
        assert.ok(
          read.pinsSubject((beginning) => /[/:]./.test(beginning)),
          one,
        )
      }
    })

    test('the sample claims are admitted or refused as the guide says', async () => {
      await using exchange = openExchange()
      const { key, clock, steps } = exchange
      const ground = groundWith(key, { policy: { subject, audience, condition }, issuer: { issuerUrl: url } })
      const failed = async (claims: object) => {
        const now = clock.time / 1000
        const read = readSubjectToken(signToken({ iat: now, exp: now + 300, ...claims }, key))
        assert.ok('token' in read)
        return (await steps.all({ token: read.token, ground, now: clock.time })).failed
      }
      const [admitted, refused] = [blocksOf(text, 'json admitted'), blocksOf(text, 'json refused')]
      assert.ok(admitted.length > 0 && refused.length > 0)
      for (const claims of admitted) assert.equal(await failed(JSON.parse(claims)), undefined, claims)
      for (const claims of refused) {
        assert.match((await failed(JSON.parse(claims)))?.name ?? 'none', /^(subject|audience|condition)$/, claims)
      }
    })

    test('shows the exchange, and what to do when it is refused', () => {
      for (const parameter of ['grant_type=urn:ietf:params:oauth:grant-type:token-exchange', 'federation_policy_id=']) {
        assert.ok(text.includes(parameter), parameter)
      }
      assert.match(text, /--data-urlencode "?subject_token[=@]/)
      const [, advice = ''] = text.split('## When it is refused')
      assert.ok(advice.includes('- `single_use`'))
      for (const [, reason = ''] of advice.matchAll(/^- `([a-z_]+)`/gm))
        assert.ok(STEP_NAMES.some((step) => step === reason))
    })
  })
}
