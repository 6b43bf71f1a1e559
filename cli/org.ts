// Creates and lists organizations, and changes their plans, as the operator.
import { type Organization, Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { parseWords, remark, runCommand, UsageError } from './command.ts'
import { listOrganizations, type Operator, openAsOperator } from './operator.ts'

const USAGE = `Usage: npm run org -- create NAME [--plan free|business|enterprise]
       npm run org -- list
       npm run org -- plan ORGANIZATION_ID free|business|enterprise

create prints only the new organization's management key on standard output; its ids follow as remarks. Without --plan its
plan is free. list prints the organizations with the ids of their workspaces. Federation needs business or enterprise; the first organization has enterprise.
The store is the one of the server that has the same environment (PORTICO_DATA_DIR, or PORTICO_MONGODB_URI).
`
const PLANS: ReadonlyMap<string, Plan> = new Map([
  ['free', Plan.FREE],
  ['business', Plan.BUSINESS],
  ['enterprise', Plan.ENTERPRISE],
])

await runCommand(USAGE, async (words) => {
  const command = parseCommand(words)
  await using operator = await openAsOperator({ makes: false })
  await command(operator)
})

function parseCommand(words: string[]): (operator: Operator) => Promise<void> {
  const { values, positionals } = parseWords({
    args: words,
    allowPositionals: true,
    options: { plan: { type: 'string' } },
  })
  const [verb = '', first, second, ...rest] = positionals
  if (rest.length > 0) throw new UsageError(`Unexpected arguments: ${rest.join(' ')}`)
  if (verb !== 'create' && values.plan !== undefined) throw new UsageError('Only create accepts options')
  if (verb === 'create' && first !== undefined && second === undefined) {
    return create(first, parsePlan(values.plan ?? 'free'))
  }
  if (verb === 'list' && first === undefined) return list
  if (verb === 'plan' && first !== undefined && second !== undefined) return setPlan(first, parsePlan(second))
  throw new UsageError(['create', 'list', 'plan'].includes(verb) ? 'Wrong arguments' : `Unknown command: ${verb}`)
}

function parsePlan(name: string): Plan {
  const plan = PLANS.get(name)
  if (plan === undefined) throw new UsageError(`Unknown plan: ${name}`)
  return plan
}

function create(name: string, plan: Plan) {
  return async ({ federation, as }: Operator) => {
    const { organization, workspaceId, managementKey } = await federation.createOrganization({ name, plan }, as())
    process.stdout.write(`${managementKey}\n`)
    if (organization !== undefined) remark(`Created ${describe(organization)} with workspace ${workspaceId}`)
    remark(`Its management key is shown only once. Keys: npm run key -- create --workspace ${workspaceId}`)
  }
}

async function list(operator: Operator): Promise<void> {
  for await (const organization of listOrganizations(operator)) process.stdout.write(`${describe(organization)}\n`)
}

function setPlan(organizationId: string, plan: Plan) {
  return async ({ federation, as }: Operator) => {
    const { organization } = await federation.updateOrganizationPlan({ organizationId, plan }, as())
    if (organization !== undefined) remark(`Changed: ${describe(organization)}`)
  }
}

function describe({ organizationId, plan, name, workspaceIds }: Organization): string {
  const planName = [...PLANS].find(([, value]) => value === plan)?.[0]
  return [organizationId, planName, ...workspaceIds, JSON.stringify(name)].join('  ')
}
