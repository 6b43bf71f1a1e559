import { z } from 'zod'
import { fromCost } from '../records/usage.ts'

/** What it cost in dollars, left out where no price is known. */
export const costMembers = {
  cost: z.number().optional(),
  cost_details: z
    .strictObject({
      upstream_inference_cost: z.null(),
      upstream_inference_input_cost: z.number(),
      upstream_inference_output_cost: z.number(),
    })
    .optional(),
}

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
