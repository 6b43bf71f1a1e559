import type { ServiceImpl } from '@connectrpc/connect'
import type { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { getGeneration } from './get-generation.ts'
import { getKeyUsage } from './get-key-usage.ts'
import { getWorkspaceUsage } from './get-workspace-usage.ts'
import { listActivity } from './list-activity.ts'

/** The handlers of usage. */
export function usageService(
  dependencies: Parameters<typeof getGeneration>[0] &
    Parameters<typeof getKeyUsage>[0] &
    Parameters<typeof getWorkspaceUsage>[0] &
    Parameters<typeof listActivity>[0],
): ServiceImpl<typeof UsageService> {
  return {
    getGeneration: getGeneration(dependencies),
    listActivity: listActivity(dependencies),
    getKeyUsage: getKeyUsage(dependencies),
    getWorkspaceUsage: getWorkspaceUsage(dependencies),
  }
}
