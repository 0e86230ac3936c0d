import type { AskedDigest } from "../../agent/model/RequestDigest.ts";
import { repeatChanges } from "../../agent/feature/repeatChanges.ts";
import { endsOf, runOf, visitIn, withinOf } from "../../agent/feature/ContextBinding.ts";
import type { ModelRequestEvent, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import { ReplayedModelError } from "../../agent/model/ReplayedModelError.ts";
import { answerKey, failureKey } from "../../checkpoint/records/Visit.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RecordedFailure, RecordedOutcome, RecordedResponse, RecordedToolCall } from "../recording/Recording.ts";
import type { ExactReplay } from "./ExactReplay.ts";
import { messageDifferences, shownCall, sameValue } from "../results/Divergence.ts";
import { replayedOutput } from "../../agent/tool/recordedCall.ts";
import type { ReplayDefinitions } from "./replayDefinition.ts";

const unknown =
  "The log has no response to this request. The recorded code did not make it, or it failed and the node caught the failure.";

/** Returns the recorded response to a request. Calls no model. */
export async function replayModelRequest(replay: ExactReplay, event: ModelRequestEvent): Promise<PromptAnswer> {
  const { context, ordinal } = event;
  const line = replay.of(runOf(context));
  const visit = visitIn(event.visit);
  const within = withinOf(context);
  const recorded = line.records.response(visit, ordinal, within);
  if (!recorded) return replay.unrecorded(context, { what: "request", actual: shownRequest(event), reason: unknown });
  const key = answerKey(visit, ordinal, within);
  const ends = endsOf(context);
  const failed = failedAttempt(replay, event, recorded);
  const failure = recorded.failed[failed];
  if (failure)
    return ends.deliver(failureKey(key, failed), () => Promise.reject(new ReplayedModelError(failure.error)));
  const { message, usage, finishReason } = recorded;
  return ends.deliver(key, () => withoutUndefined({ message, usage, finishReason }));
}

/** Returns the number of the recorded failure for this attempt. Returns -1 if the attempt gets the response. */
function failedAttempt(replay: ExactReplay, event: ModelRequestEvent, recorded: RecordedResponse): number {
  if (event.isHosted) return -1;
  const { context } = event;
  const run = runOf(context);
  const line = replay.of(run);
  const isOfNode = withinOf(context) === undefined;
  if (isOfNode && line.history.differs)
    replay.assertHistory(run, context.nodeId, "request", line.expectedAt(recorded.message));
  const asked = line.digests.of(event, isOfNode ? run.state.history : undefined);
  const attempt = line.nextAttempt(recorded);
  const failure = recorded.failed[attempt];
  if (failure && isOf(failure, asked) !== false) return attempt;
  if (recorded.asked === undefined || asked.matches(recorded.asked)) return -1;
  const earlier = recorded.failed.findIndex((each) => isOf(each, asked));
  if (earlier >= 0) return earlier;
  const expected = line.expectedAt(recorded.message);
  const messages = messageDifferences(expected, event.messages);
  return replay.diverge(run, context.nodeId, {
    what: "request",
    expected: { messages: expected },
    actual: shownRequest(event),
    messages,
  });
}

/** Returns whether a failure belongs to a request. `undefined` if the digest of the failed request is hidden. */
function isOf({ asked: recorded }: RecordedFailure, asked: AskedDigest): boolean | undefined {
  return recorded === undefined ? undefined : asked.matches(recorded);
}

function shownRequest({ model, parameters, tools, messages }: ModelRequestEvent): unknown {
  return withoutUndefined({ model, parameters, tools: tools.map(({ name }) => name), messages });
}

/** Returns the recorded outcome of a call. Executes no tool. The strategy of a sub-agent runs again. */
export async function replayToolCall(
  replay: ExactReplay,
  definitions: ReplayDefinitions,
  event: ToolCallEvent,
  next: (event: ToolCallEvent) => Promise<unknown>,
): Promise<unknown> {
  const { context, tool, input, origin } = event;
  const actual = shownCall({ toolName: tool.name, input });
  const recorded = callInRecording(replay, event);
  if (!recorded) return replay.unrecorded(context, { what: "call", actual });
  if (recorded.toolName !== tool.name || !sameValue(recorded.input, input))
    replay.diverge(runOf(context), context.nodeId, { what: "call", expected: shownCall(recorded), actual });
  const { outcome, toolCallId } = recorded;
  const line = replay.of(runOf(context));
  const agent = outcome?.error || !line.agent(toolCallId) ? undefined : definitions.subAgent(tool);
  if (agent) await replayAgent(replay, { ...event, tool: agent, toolCallId }, recorded, next);
  if (!outcome) return replay.leave(context);
  const group = origin.kind === "model" ? origin.message : undefined;
  return endsOf(context).deliver(toolCallId, () => repeatOutcome(event, toolCallId, outcome), group);
}

/** Makes the recorded changes of a call again. Returns its output. @throws the recorded error */
export function repeatOutcome({ context, tool }: ToolCallEvent, call: string, outcome: RecordedOutcome): unknown {
  if (outcome.changes !== undefined) repeatChanges(context, call, outcome.changes);
  return replayedOutput(tool.name, call, outcome);
}

async function replayAgent(
  replay: ExactReplay,
  event: ToolCallEvent,
  { outcome }: RecordedToolCall,
  next: (event: ToolCallEvent) => Promise<unknown>,
): Promise<void> {
  const { context } = event;
  const output = await next(event);
  if (outcome && !sameValue(output, outcome.output))
    replay.diverge(runOf(context), context.nodeId, { what: "output", expected: outcome.output, actual: output });
}

export function callInRecording(
  replay: ExactReplay,
  { origin, context, visit, toolCallId }: Pick<ToolCallEvent, "origin" | "context" | "visit" | "toolCallId">,
): RecordedToolCall | undefined {
  const { records } = replay.of(runOf(context));
  if (origin.kind === "model") return records.call(toolCallId);
  return records.callAt(visitIn(visit), origin.ordinal, withinOf(context)) ?? records.call(toolCallId);
}
