import type { RunToolApprovalItem } from "@openai/agents-core";
import { InvalidInputError } from "../../../errors/agent/InvalidInputError.ts";
import type { ApprovableCall } from "../../hosted/HostedLoop.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import { inputOf } from "../wrapped/inputOf.ts";
import type { AnyState } from "../wrapped/AnyAgent.ts";

/**
 * Waits until all interruptions of a loop have an answer, and tells the state of the loop. Never settles while one has none:
 * the run ends as waiting.
 *
 * @throws InvalidInputError for an approval that is not one of a function tool.
 */
export async function decideApprovals(
  run: DurableRun,
  { interruptions, state }: { readonly interruptions: readonly RunToolApprovalItem[]; readonly state: AnyState },
): Promise<void> {
  const verdicts = await run.loop.approvals(interruptions.map((item) => callOf(run, item)));
  for (const [index, item] of interruptions.entries()) {
    const verdict = verdicts[index];
    if (verdict?.approved) state.approve(item);
    else state.reject(item, verdict && { message: verdict.reason });
  }
}

function callOf(run: DurableRun, { rawItem, name = "" }: RunToolApprovalItem): ApprovableCall {
  if (rawItem.type !== "function_call" || !run.ids.has(rawItem.callId))
    throw new InvalidInputError("approval", [
      { path: "type", expected: `expected an approval of a function tool, found one of ${rawItem.type} "${name}"` },
    ]);
  const tool = run.knownTools.named(rawItem.name);
  return { toolCallId: rawItem.callId, tool, input: inputOf(rawItem.arguments) };
}
