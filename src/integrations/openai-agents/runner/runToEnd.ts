import type { RunToolApprovalItem } from "@openai/agents-core";
import { decideApprovals } from "./decideApprovals.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import type { AnyState } from "../wrapped/AnyAgent.ts";

/** A result of the SDK, or a stream of it. */
interface Round {
  readonly interruptions: readonly RunToolApprovalItem[];
  readonly state: AnyState;
}

/**
 * Runs a loop of the SDK to its end: each time it stops for want of approvals, it goes on once they are given.
 *
 * @param begin runs the loop, from its input or from its state. Resolves when the loop has stopped.
 */
export async function runToEnd<Result extends Round, Input>(
  run: DurableRun,
  input: Input,
  begin: (input: Input | AnyState) => Promise<Result>,
): Promise<Result> {
  let result = await begin(input);
  while (result.interruptions.length > 0) {
    await decideApprovals(run, result);
    result = await begin(result.state);
  }
  // A stream of the SDK that was aborted ends as if it were done.
  run.loop.signal.throwIfAborted();
  return result;
}
