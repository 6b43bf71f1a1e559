import type { AllowedTools, HostedTool, Tool } from '#gen/portico/inference/v1/inference_pb.js'

/** What a choice of tools allows. */
export class Allowance {
  readonly #names: ReadonlySet<unknown>
  readonly #hostedTypes: ReadonlySet<unknown>
  readonly #serverLabels: ReadonlySet<unknown>

  constructor({ names, hostedTypes, serverLabels }: AllowedTools) {
    this.#names = new Set(names)
    this.#hostedTypes = new Set(hostedTypes)
    this.#serverLabels = new Set(serverLabels)
  }

  allows({ name }: Tool): boolean {
    return this.#names.has(name)
  }

  allowsHosted({ definition }: HostedTool): boolean {
    const { type, server_label: label } = definition ?? {}
    return this.#hostedTypes.has(type) || (type === 'mcp' && this.#serverLabels.has(label))
  }
}
