import type { Auth } from './config.ts'

/** What a person who starts the server reads. */
export interface Welcome {
  readonly url: string
  readonly auth: Auth
  /** A shell expression, to be put between double quotes, for the password of the mode `basic`. */
  readonly password: string
  readonly project: string
  /** A shell assignment that gives the workspace's keys access to the project; undefined if none is needed. */
  readonly rootsNeeded: string | undefined
  /** Keys that were generated at this start; they are shown only once. */
  readonly keys: { readonly management: string | undefined; readonly api: string | undefined }
  readonly providers: readonly string[]
  readonly defaultModel: string
  /** Shell command that makes a workspace API key and prints nothing else. */
  readonly keyCommand: string
}

/** The text that a start prints: address, keys and models, and commands to paste. */
export function welcome(facts: Welcome): string {
  const { url, auth, password, project, rootsNeeded, keys, providers, defaultModel, keyCommand } = facts
  const user = auth.mode === 'basic' ? ` -u '${auth.username}':"${password}"` : ''
  const bearer = ` -H "Authorization: Bearer $PORTICO_API_KEY"`
  const instance = `curl -sS${auth.mode === 'bearer' ? bearer : user}`
  const json = ` -H 'content-type: application/json'`
  return `
Portico is listening on ${url}
  project    ${project}
  providers  ${providers.join(', ')}
  model      ${defaultModel}
${keyLines(keys, keyCommand)}${rootsLines(rootsNeeded)}
Talk to an agent in the project (the first line names a new session):
  export S=ses_tour$(date +%s)
  ${instance}${json} ${url}/api/session -d '{"id":"'$S'"}'
  ${instance}${json} ${url}/api/session/$S/prompt -d '{"text":"What is in this project?"}'
  ${instance} -X POST ${url}/api/experimental/session/$S/wait
  ${instance} "${url}/api/session/$S/message?order=asc"
Watch what happens, from another terminal:
  ${instance} -N ${url}/api/event
Call a model:
  curl -sS${bearer}${json} ${url}/api/v1/responses -d '{"model":"${defaultModel}","input":"Hello"}'
  curl -sSN${bearer}${json} ${url}/api/v1/responses -d '{"model":"${defaultModel}","input":"Hello","stream":true}'

`
}

function keyLines(keys: Welcome['keys'], keyCommand: string): string {
  const lines = ['']
  if (keys.management !== undefined || keys.api !== undefined)
    lines.push('Keys, shown only once and stored only as hashes:')
  if (keys.management !== undefined) lines.push(`  export PORTICO_MANAGEMENT_KEY=${keys.management}`)
  if (keys.api !== undefined) lines.push(`  export PORTICO_API_KEY=${keys.api}`)
  lines.push(`${keys.api === undefined ? 'Make a workspace API key' : 'Make another one, now or later'}:`)
  lines.push(`  export PORTICO_API_KEY=$(${keyCommand})`, '')
  return lines.join('\n')
}

function rootsLines(rootsNeeded: string | undefined): string {
  if (rootsNeeded === undefined) return ''
  return `
No key has access to a project yet. To give those of the workspace access to this one, start with:
  export ${rootsNeeded}
`
}
