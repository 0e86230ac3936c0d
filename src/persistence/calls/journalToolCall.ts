import { callOf } from "../../agent/feature/ContextBinding.ts";
import { isToolFailure } from "../../agent/tool/Tool.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { IntentRecord } from "../../checkpoint/records/callRecords.ts";
import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import { NotSerializableError } from "../../errors/storage/NotSerializableError.ts";
import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { ToolNotStartedError } from "../../errors/toolCall/ToolNotStartedError.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCall/ToolOutcomeUnknownError.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { saveIfDue } from "../record/saveIfDue.ts";
import { discardReplay } from "./discardReplay.ts";
import { type CallEnd, recordEnd, resolveOnReplay, shownCall } from "./resolveOnReplay.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

type Next = (event: ToolCallEvent) => Promise<unknown>;

/**
 * A tool call of a durable run: one that ended before is not run again; one with a side effect is recorded before it
 * begins and after it ended. What follows from an outcome comes later in the same log, so it is not waited for.
 */
export function journalToolCall(recorder: RunRecorder, event: ToolCallEvent, next: Next): Promise<unknown> {
  const { toolCallId } = event;
  const known = recorder.performed.get(toolCallId);
  // One id is one call: a message that is executed twice gets the same outcomes.
  if (known) return known;
  const performing = replayOrPerform(recorder, event, next);
  recorder.performed.set(toolCallId, performing);
  performing.catch((error: unknown) => {
    if (!isToolFailure(error)) recorder.performed.delete(toolCallId);
  });
  return performing;
}

async function replayOrPerform(recorder: RunRecorder, event: ToolCallEvent, next: Next): Promise<unknown> {
  const effect = recorder.setup.effectOf(event.tool);
  const repeatable = effect === "none" || effect === "idempotent";
  const recorded = recordedCall(recorder, event);
  if (!recorded) {
    await saveBefore(recorder, event);
    const facts = intentOf(recorder, event);
    await begin(recorder, facts);
    return perform(recorder, { facts, event, next });
  }
  const end = endOf(recorder, recorded) ?? (repeatable ? undefined : await resolveOnReplay(recorder, recorded, event));
  if (end && !(end.outcome.lost && repeatable)) return replay(recorder, recorded.call, end, event);
  await saveBefore(recorder, event);
  const known = { ...event, toolCallId: recorded.call };
  // What follows stands on the line of now, which may be another than the one where the call began.
  const facts = { ...(recorded.intent ?? intentOf(recorder, known)), lane: recorder.lane };
  if (recorded.outcome?.retry) await begin(recorder, facts);
  else await recorder.answersDurable;
  return perform(recorder, { facts, event: known, next, again: true });
}

function saveBefore(recorder: RunRecorder, { context, tool, input }: ToolCallEvent): Promise<void> {
  return saveIfDue(recorder, context, { kind: "tool_call_starting", nodeId: context.nodeId, tool, input });
}

/** The answer that asked for a call, and the intent of one with an effect, are durable before it begins. */
async function begin(recorder: RunRecorder, facts: IntentRecord): Promise<void> {
  if (facts.effect === "none") return recorder.answersDurable;
  recorder.journal.append([facts]);
  return recorder.journal.durable();
}

interface Performance {
  readonly facts: IntentRecord;
  readonly event: ToolCallEvent;
  readonly next: Next;
  /** True when the call began before, and may have had its effect then. */
  readonly again?: boolean;
}

async function perform(recorder: RunRecorder, performance: Performance): Promise<unknown> {
  const { facts, event } = performance;
  const output = await runRecorded(recorder, performance);
  const { tool, input } = event;
  await saveIfDue(recorder, event.context, { kind: "tool_call_completed", nodeId: facts.node, tool, input });
  return output;
}

async function runRecorded(recorder: RunRecorder, performance: Performance): Promise<unknown> {
  const { facts, event, next } = performance;
  recorder.inFlight.set(facts.call, facts);
  try {
    return recordOutcome(recorder, facts, event, await next(event));
  } catch (error) {
    recordError(recorder, performance, error);
    throw error;
  } finally {
    recorder.inFlight.delete(facts.call);
  }
}

/** A call that was cut short by an abort has no outcome: it may or may not have had its effect. */
function recordError(recorder: RunRecorder, { facts, event, again }: Performance, error: unknown): void {
  if (error instanceof ToolFailedError) {
    const { reason } = error;
    recordEnd(
      recorder,
      facts,
      { error: { message: reason } },
      { ...shownCall(facts, event.input), status: "failed", error: reason },
    );
  }
  // Without an effect there is no intent to take back.
  if (error instanceof ToolNotStartedError && facts.effect !== "none" && !again)
    recordEnd(recorder, facts, { unstarted: true });
}

/** @returns the output as everybody after gets it. */
function recordOutcome(recorder: RunRecorder, facts: IntentRecord, event: ToolCallEvent, given: unknown): unknown {
  const { writer } = recorder.journal;
  const subject = `the output of tool "${event.tool.name}"`;
  try {
    const output = frozenCopy(given);
    const slot = writer.value(output, subject);
    recordEnd(recorder, facts, { output: slot }, { ...shownCall(facts, event.input), status: "succeeded", output });
    writer.noteOutcome(facts.call, output);
    return output;
  } catch (error) {
    if (recorder.journal.failed) throw error;
    // The effect has happened: that much is recorded, so that it can be rolled back and is not repeated.
    const refusal =
      error instanceof NotSerializableError
        ? error
        : new NotSerializableError(subject, "", `cannot be copied: ${reasonOf(error)}`);
    recordEnd(
      recorder,
      facts,
      { lost: { path: refusal.path, reason: refusal.reason } },
      { ...shownCall(facts, event.input), status: "lost" },
    );
    throw refusal;
  }
}

function intentOf(recorder: RunRecorder, event: ToolCallEvent): IntentRecord {
  const { writer } = recorder.journal;
  const { origin, tool, input, context } = event;
  const within = callOf(context)?.toolCallId;
  const inAnswer = origin.kind === "model" && writer.isAnswer(origin.message);
  return {
    kind: "intent",
    lane: recorder.lane,
    visit: visitOf(event),
    call: event.toolCallId,
    tool: tool.name,
    effect: recorder.setup.effectOf(tool),
    node: context.nodeId,
    ...(!inAnswer && { input: writer.value(input, `the input of tool "${tool.name}"`) }),
    ...(recorder.setup.registry.has(tool.name) && { inverse: true }),
    ...(origin.kind === "node" && { ordinal: origin.ordinal }),
    ...(within !== undefined && { within }),
  };
}

/** What is recorded of a call; `undefined` when nothing is, or something else and the visit goes on afresh. */
function recordedCall(recorder: RunRecorder, event: ToolCallEvent): RecordedCall | undefined {
  const { recording } = recorder;
  const { origin, tool, context, input } = event;
  const recorded =
    origin.kind === "model"
      ? recording?.call(event.toolCallId)
      : recording?.callAt(visitOf(event), origin.ordinal, callOf(context)?.toolCallId);
  if (!recorded || recording?.isSame(recorded, tool.name, input)) return recorded;
  const before = callFacts(recorded).tool;
  const found = before === tool.name ? `a call of "${tool.name}" with another input` : `a call of "${tool.name}"`;
  discardReplay(recorder, context, visitOf(event), { recorded: `a call of "${before}" (${recorded.call})`, found });
  return undefined;
}

/** `undefined` for a call in doubt, and for one that was settled to be made again. */
function endOf({ recording }: RunRecorder, { call, outcome }: RecordedCall): CallEnd | undefined {
  return outcome && !outcome.retry ? { outcome, output: recording?.outputOf(call) } : undefined;
}

function replay(recorder: RunRecorder, call: string, { outcome, output }: CallEnd, { tool }: ToolCallEvent): unknown {
  if (outcome.error) throw new ToolFailedError(tool.name, call, outcome.error.message);
  if (outcome.unknown) throw new ToolOutcomeUnknownError(tool.name, call);
  if (outcome.lost)
    throw new NotSerializableError(`the output of tool "${tool.name}"`, outcome.lost.path, outcome.lost.reason);
  recorder.journal.writer.noteOutcome(call, output);
  return output;
}

function visitOf({ visit }: ToolCallEvent): Visit {
  return [visit.base, visit.ordinal];
}
