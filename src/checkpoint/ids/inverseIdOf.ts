import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { type RunLine, toolCallIdAt } from "./toolCallId.ts";

/** Returns the tool-call id of a call's inverse, which is the same for every attempt. */
export function inverseIdOf(
  call: string,
  { agentId, sha256 }: Pick<RunLine, "agentId"> & { readonly sha256: Sha256 },
): string {
  return toolCallIdAt({ agentId, runId: "", lane: 0 }, `inverse of ${call}`, sha256);
}
