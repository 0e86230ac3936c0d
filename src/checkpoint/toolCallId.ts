import type { Sha256 } from "../internal/sha256/Sha256.ts";

/** One line of one run: what the id of a tool call is bound to. */
export interface RunLine {
  readonly agentId: string;
  readonly runId: string;
  /** The lane of the log; a rollback, a branch and a new run each begin another. */
  readonly lane: number;
}

const half = 11;

/**
 * The id of a tool call: 22 characters, a digest of the place where it was asked for and of its line. The same place on
 * the same line gives the same id, so it is the same when a call is retried or replayed; on another line it is another.
 * The second half is derived from the first, so that {@link isToolCallIdOf} needs no memory of what was issued.
 */
export function toolCallIdAt(line: RunLine, place: string, sha256: Sha256): string {
  const first = sha256.base64url(JSON.stringify([line.agentId, line.runId, line.lane, place])).slice(0, half);
  return first + proof(line, first, sha256);
}

/** Whether {@link toolCallIdAt} made this id on this line. */
export function isToolCallIdOf(line: RunLine, id: string, sha256: Sha256): boolean {
  return id.length === 2 * half && id.slice(half) === proof(line, id.slice(0, half), sha256);
}

/** The id of a request for input: 12 hex digits, which a person can type; a digest of where it was made and of its line. */
export function requestIdAt(line: RunLine, place: string, sha256: Sha256): string {
  return sha256.hex(JSON.stringify(["request", line.agentId, line.runId, line.lane, place])).slice(0, 12);
}

function proof(line: RunLine, first: string, sha256: Sha256): string {
  return sha256.base64url(JSON.stringify(["issued", line.agentId, line.runId, line.lane, first])).slice(0, half);
}
