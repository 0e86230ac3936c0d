import type { RunToolApprovalItem } from "@openai/agents-core";
import { decideApprovals } from "./decideApprovals.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import type { AnyState } from "../wrapped/AnyAgent.ts";

interface Round {
  readonly interruptions: readonly RunToolApprovalItem[];
  readonly state: AnyState;
}

/** Receives the result with which a loop stops for approvals, and `undefined` once the loop continues. */
export type OnStop<Result> = (stopped: Result | undefined) => void;

/**
 * Runs an SDK loop to its end. Each time the loop stops for approvals, it continues after the answers.
 *
 * @param begin runs the loop from its input or its state and resolves when the loop stops
 */
export async function runToEnd<Result extends Round, Input>(
  run: DurableRun,
  input: Input,
  begin: (input: Input | AnyState) => Promise<Result>,
  onStop: OnStop<Result> = () => {},
): Promise<Result> {
  let result = await begin(input);
  while (result.interruptions.length > 0) {
    onStop(result);
    await decideApprovals(run, result);
    onStop(undefined);
    result = await begin(result.state);
  }
  // An aborted stream of the SDK ends without an error.
  run.loop.signal.throwIfAborted();
  return result;
}
