import { toolCallIdAt } from "../../checkpoint/toolCallId.ts";
import type { Journal } from "../../journal/Journal.ts";

/** The tool-call id of the inverse of a call: the same whenever and from wherever it is tried. */
export function inverseIdOf(call: string, { agentId, sha256 }: Pick<Journal, "agentId" | "sha256">): string {
  return toolCallIdAt({ agentId, runId: "", lane: 0 }, `inverse of ${call}`, sha256);
}
