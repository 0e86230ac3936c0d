import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** A lane of a run. The ids of its tool calls are derived from these fields. */
export interface RunLine {
  readonly agentId: string;
  readonly runId: string;
  /** Each rollback, branch of history and new run starts a new lane, which is a number in the records of the log. */
  readonly lane: number;
}

const half = 11;

/**
 * Returns the id of a tool call: a digest of its lane and its place in the node. A repeated call has the same id. The
 * second half of the id is derived from the first, so that {@link isToolCallIdOf} can verify an id without a list.
 */
export function toolCallIdAt(line: RunLine, place: string, sha256: Sha256): string {
  const first = sha256.base64url(JSON.stringify([line.agentId, line.runId, line.lane, place])).slice(0, half);
  return first + proof(line, first, sha256);
}

export function isToolCallIdOf(line: RunLine, id: string, sha256: Sha256): boolean {
  return id.length === 2 * half && id.slice(half) === proof(line, id.slice(0, half), sha256);
}

/** Returns whether an id has the length of {@link toolCallIdAt}. The ids of model providers have other lengths. */
export function mayBeToolCallId(id: string): boolean {
  return id.length === 2 * half;
}

/** Returns the id of the call that reverts another call. Each attempt to revert the call has the same id. */
export function inverseIdOf(
  call: string,
  { agentId, sha256 }: Pick<RunLine, "agentId"> & { readonly sha256: Sha256 },
): string {
  return toolCallIdAt({ agentId, runId: "", lane: 0 }, `inverse of ${call}`, sha256);
}

/** Returns the id of a request for input: a digest of its lane and place. The id has 12 hex digits for easy typing. */
export function requestIdAt(line: RunLine, place: string, sha256: Sha256): string {
  return sha256.hex(JSON.stringify(["request", line.agentId, line.runId, line.lane, place])).slice(0, 12);
}

function proof(line: RunLine, first: string, sha256: Sha256): string {
  return sha256.base64url(JSON.stringify(["issued", line.agentId, line.runId, line.lane, first])).slice(0, half);
}
