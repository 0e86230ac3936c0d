import { stepViews } from "../../inspect/show/stepView.ts";
import type { Shown } from "../../inspect/show/Source.ts";
import { WorkTime } from "../../inspect/show/WorkTime.ts";
import type { CallView } from "../../inspect/view/CallView.ts";
import type { RequestView } from "../../inspect/view/RequestView.ts";
import type { AnswerView } from "../../inspect/view/StepView.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { plainValue } from "./plainValue.ts";
import type { RunPath } from "./runPath.ts";
import type { RunTrace, TraceCall, TraceMessage, TraceModelRequest, TraceVisit, TraceWait } from "./RunTrace.ts";
import { nestedOrder } from "./nestedOrder.ts";
import { type TimedVisit, wholeVisits } from "./wholeVisits.ts";

/** Returns the node executions of a path. */
export function traceVisits(shown: Shown, { events }: RunPath): Pick<RunTrace, "visits" | "durationMs"> {
  const { log } = shown.index;
  const time = new WorkTime();
  const parts: TimedVisit[] = [];
  for (const step of stepViews(shown, events)) {
    time.see(step);
    if (step.kind === "visit") parts.push({ ...step, took: time.tookOf(step) });
  }
  const visits = nestedOrder(log, wholeVisits(log, parts)).map(traceVisit);
  return withoutUndefined({ visits, durationMs: time.total() });
}

function traceVisit(step: TimedVisit): TraceVisit {
  const { node, line, state, checkpoint, startedAt, output, answers, calls, requests, changes } = step;
  const added = changes.messages.added.map(({ message, ...place }) => ({ ...place, message: plainValue(message) }));
  return withoutUndefined({
    node,
    branch: line.branch,
    agentPath: line.agentPath.length === 0 ? undefined : line.agentPath,
    state,
    checkpointId: checkpoint?.checkpointId,
    startedAt,
    durationMs: step.took,
    output: output && plainValue(output),
    requests: modelRequests(answers, added),
    calls: calls.map(traceCall),
    waits: requests.map(traceWait),
    messages: { added, removed: changes.messages.removed },
  });
}

/** Each response is a message of the history, unless the node discarded it. The request contained the earlier messages. */
function modelRequests(answers: readonly AnswerView[], added: readonly TraceMessage[]): readonly TraceModelRequest[] {
  const texts = added.map(({ message }) => JSON.stringify(message));
  let from = 0;
  return answers.map(({ message, model, finish, usage, failures, within }) => {
    const response = plainValue(message);
    const at = texts.indexOf(JSON.stringify(response), from);
    const newMessages = at === -1 ? from : at;
    from = at === -1 ? from : at + 1;
    return withoutUndefined({ newMessages, response, model, finish, usage, failures, within });
  });
}

function traceCall({ toolCallId, tool, effect, state, input, output, error, within }: CallView): TraceCall {
  return withoutUndefined({
    toolCallId,
    tool,
    effect,
    state,
    input: plainValue(input),
    output: output && plainValue(output),
    error,
    within,
  });
}

function traceWait({ kind, state, prompt, call, answer, rejection }: RequestView): TraceWait {
  return withoutUndefined({
    kind,
    state,
    prompt: plainValue(prompt),
    tool: call?.tool,
    answer: answer && plainValue(answer),
    rejection,
  });
}
