import type { RecordedEnd } from "../recording/Recording.ts";
import type { Divergence, FoundDifference } from "../results/Divergence.ts";
import { sameValue } from "../results/sameValue.ts";
import { shownError } from "../results/shownError.ts";
import type { ExactReplay } from "./ExactReplay.ts";

/** How a replayed run ended: with an output, with an error, or at the end of its recording. */
export interface ReplayedEnd {
  readonly output?: unknown;
  readonly error?: unknown;
}

/** Compares the end of a replayed run with the recorded end. Returns `undefined` if they are the same. */
export function endDivergence(replay: ExactReplay, end: ReplayedEnd): Divergence | undefined {
  const { root, recording } = replay;
  const found = differenceOf(replay, recording.end, end);
  return found && { ...found, nodeId: root.current?.nodeId ?? "start", agentPath: [], messages: [] };
}

function differenceOf(replay: ExactReplay, recorded: RecordedEnd, end: ReplayedEnd): FoundDifference | undefined {
  if ("error" in end) return failureDifference(replay, recorded, end.error);
  if (recorded.status === "completed") return outputDifference(recorded, end);
  if (recorded.status === "failed") return failsElsewhere(replay, recorded, end) ? undefined : noFailure(recorded, end);
  if (recorded.status === "cancelled" || !("output" in end)) return undefined;
  return { what: "path", actual: { nodeId: "finish", input: end.output } };
}

function outputDifference({ output: expected }: RecordedEnd, end: ReplayedEnd): FoundDifference | undefined {
  if (!("output" in end)) return { what: "path", expected: { nodeId: "finish", input: expected } };
  return sameValue(expected, end.output) ? undefined : { what: "output", expected, actual: end.output };
}

function failureDifference(
  { failures }: ExactReplay,
  { status, error: expected }: RecordedEnd,
  error: unknown,
): FoundDifference | undefined {
  const actual = shownError(error);
  if (status !== "failed" || !expected)
    return status !== "completed" && failures.has(error) ? undefined : { what: "failure", actual };
  const { name, message } = expected;
  // A fixture can hide parts of the message.
  const isSame = name === actual.name && (message === actual.message || message.includes("[hidden]"));
  return isSame ? undefined : { what: "failure", expected: { name, message }, actual };
}

function noFailure({ error }: RecordedEnd, end: ReplayedEnd): FoundDifference {
  const expected = error && { name: error.name, message: error.message };
  return { what: "failure", expected, ...("output" in end && { actual: { output: end.output } }) };
}

/** Returns whether a request or call without a recorded result failed, or something that a replay does not do. */
function failsElsewhere({ isInNode }: ExactReplay, { error }: RecordedEnd, end: ReplayedEnd): boolean {
  return !("output" in end) && (isInNode || !error || notReplayed.has(error.code ?? ""));
}

const notReplayed: ReadonlySet<string> = new Set(["iteration_limit", "not_serializable", "checkpoint_too_large"]);
