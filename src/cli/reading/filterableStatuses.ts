import type { AgentStatus } from "../../inspect.ts";

/** The statuses that a list can be filtered by. */
export const filterableStatuses = [
  "queued",
  "in_progress",
  "paused",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "moving",
  "moved",
  "copied",
  "unreadable",
] as const satisfies readonly AgentStatus[];
