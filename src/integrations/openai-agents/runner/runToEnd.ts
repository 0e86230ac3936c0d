import type { RunToolApprovalItem } from "@openai/agents-core";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import type { AnyState } from "../wrapped/AnyAgent.ts";
import { unexplainedRejection } from "../../../agent/tool/Tool.ts";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import type { ApprovableCall, HostedApproval } from "../../hosted/HostedLoop.ts";
import { parsedInput } from "../wrapped/recordedAnswer.ts";
import { withOriginalAgent } from "../wrapped/originals.ts";

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

/**
 * Waits until all interruptions are answered and applies the answers to the state of the loop. Never settles while an
 * answer is missing, because the run then ends as waiting.
 *
 * @throws InvalidInputError for an approval of a computer, shell or patch call
 */
async function decideApprovals(
  run: DurableRun,
  { interruptions, state }: { readonly interruptions: readonly RunToolApprovalItem[]; readonly state: AnyState },
): Promise<void> {
  const calls = interruptions.map((item) => callOf(run, item));
  for (const [index, { toolCallId }] of calls.entries())
    run.approvals.set(toolCallId, withOriginalAgent(interruptions[index] as RunToolApprovalItem));
  const verdicts = await run.loop.approvals(calls);
  for (const [index, item] of interruptions.entries()) {
    const verdict = verdicts[index];
    if (verdict?.approved) state.approve(item);
    else state.reject(item, messageOf(verdict));
  }
}

/** Without a reason, the SDK formats the rejection message according to the user's configuration. */
function messageOf(verdict: HostedApproval | undefined): { readonly message: string } | undefined {
  if (!verdict || verdict.approved || verdict.reason === unexplainedRejection) return undefined;
  return { message: verdict.reason };
}

function callOf(run: DurableRun, { rawItem, name = "" }: RunToolApprovalItem): ApprovableCall {
  const toolCallId = run.ids.ofApproval(rawItem);
  if (toolCallId === undefined || (rawItem.type !== "function_call" && rawItem.type !== "hosted_tool_call"))
    throw new InvalidInputError("approval", [
      {
        path: "type",
        expected: `expected an approval of a function tool or a hosted MCP tool, found an approval of ${rawItem.type} "${name}"`,
      },
    ]);
  const { arguments: input } = rawItem.type === "function_call" ? rawItem : (rawItem.providerData ?? {});
  return { toolCallId, tool: run.knownTools.named(rawItem.name), input: parsedInput(input) };
}
