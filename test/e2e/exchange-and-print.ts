// Exchanges a token again and again, 16 at once, and prints each access token as soon as it has it. Arguments: the
// settings of the identity service as JSON, the policy and the subject token.
import { openReplica } from '#test/support/identity-replica.ts'

const [settings = '', federationPolicyId = '', subjectToken = ''] = process.argv.slice(2)
const { federation } = await openReplica(JSON.parse(settings))
await Promise.all(
  Array.from({ length: 16 }, async () => {
    for (;;) {
      const { accessToken } = await federation.exchangeToken({ federationPolicyId, subjectToken })
      process.stdout.write(`${accessToken}\n`)
    }
  }),
)
