import { fromCost } from '../records/usage.ts'

/** What a generation has cost, as responses and messages show it. */
export function fromCosts(costNanos: bigint, outputCostNanos: bigint) {
  return {
    cost: fromCost(costNanos),
    cost_details: {
      upstream_inference_cost: null,
      upstream_inference_input_cost: fromCost(costNanos - outputCostNanos),
      upstream_inference_output_cost: fromCost(outputCostNanos),
    },
  }
}
