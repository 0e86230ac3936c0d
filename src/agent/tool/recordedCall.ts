import { NotSerializableError } from "../../errors/storedDataErrors.ts";
import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

export interface RecordedCallEnd {
  readonly output?: unknown;
  readonly error?: { readonly message: string; readonly name?: string };
  readonly failedCalls?: readonly string[];
  readonly unknown?: true;
  /** The call took effect, but its output cannot be stored. */
  readonly lost?: { readonly path: string; readonly reason: string };
  /** A person or a handler decided that the call in doubt runs again. */
  readonly retry?: true;
}

export function isRepeatable(effect: string | undefined): boolean {
  return effect === "none" || effect === "idempotent";
}

/** Decides whether a recorded call returns its outcome, runs again, or is in doubt. */
export function decideRecorded(
  end: Pick<RecordedCallEnd, "lost" | "retry"> | undefined,
  effect: string,
): "replay" | "repeat" | "ask" {
  if (end?.retry) return "repeat";
  if (!end) return isRepeatable(effect) ? "repeat" : "ask";
  return end.lost && isRepeatable(effect) ? "repeat" : "replay";
}

export function outputSubject(tool: string): string {
  return `the output of tool "${tool}"`;
}

/** Returns the output of a recorded call. `next` is the advice for a lost output. @throws the recorded error */
export function replayedOutput(tool: string, call: string, end: RecordedCallEnd, next?: string): unknown {
  const { error, failedCalls, unknown, lost } = end;
  if (error)
    throw new ToolFailedError(tool, call, error.message, withoutUndefined({ failedCalls, errorName: error.name }));
  if (unknown) throw new ToolOutcomeUnknownError(tool, call);
  if (lost) throw new NotSerializableError(outputSubject(tool), lost.path, lost.reason, next);
  return end.output;
}

/** Returns the recorded reason for an output that cannot be stored. */
export function lostOutput(error: unknown): NonNullable<RecordedCallEnd["lost"]> {
  if (!(error instanceof NotSerializableError)) return { path: "", reason: `cannot be copied: ${reasonOf(error)}` };
  return { path: error.path, reason: error.reason };
}
