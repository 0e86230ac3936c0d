import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { callOf } from "../../agent/feature/ContextBinding.ts";
import type { NodeVisit } from "../../agent/feature/PipelineEvents.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { NotSerializableError } from "../../errors/storedDataErrors.ts";
import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RecordedOutcome } from "../recording/Recording.ts";

/** Returns the recorded output of a call. @throws the recorded failure of the call */
export function recordedOutcome({ name }: AnyTool, toolCallId: string, outcome: RecordedOutcome): unknown {
  const { error, failedCalls, lost, unknown } = outcome;
  if (error)
    throw new ToolFailedError(
      name,
      toolCallId,
      error.message,
      withoutUndefined({ failedCalls, errorName: error.name }),
    );
  if (unknown) throw new ToolOutcomeUnknownError(name, toolCallId);
  if (lost) throw new NotSerializableError(`the output of tool "${name}"`, lost.path, lost.reason);
  return outcome.output;
}

export function visitIn({ base, ordinal }: NodeVisit): Visit {
  return [base, ordinal];
}

/** Returns the call around a request. `undefined` if the node makes the request. */
export function withinOf(context: AgentContext): string | undefined {
  return callOf(context)?.toolCallId;
}
