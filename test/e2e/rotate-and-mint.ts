// Rotates the signing keys of a store again and again, in accelerated time, and prints each token that it has made with
// the time of that store. Arguments: the store (a folder, or a MongoDB URI and a database), and the time to begin at.
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { AccessTokens } from '#services/identity/run/access-token/access-tokens.ts'
import { grantAt, ISSUER, openRing } from '#test/support/signing.ts'

const [place = '', begin = ''] = process.argv.slice(2)
const clock = { time: Number(begin), now: () => clock.time, monotonic: () => clock.time }
const { ring } = await openRing(JSON.parse(place), clock)
const tokens = new AccessTokens({ signatures: new JoseSignatures(), ring, issuer: ISSUER, clock })
for (;;) {
  await ring.rotate()
  // Each is made shortly before the next key signs, or after it, so that the previous key is removed while its last
  // tokens live.
  clock.time += 400_000
  const minted = await tokens.mint(grantAt(clock.time))
  process.stdout.write(`${clock.time} ${minted?.token}\n`)
}
