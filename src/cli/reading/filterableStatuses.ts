import type { AgentStatus } from "../../inspect.ts";

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
