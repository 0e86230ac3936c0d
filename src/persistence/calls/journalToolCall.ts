import { subAgentOf } from "../../agent/agentAsTool/agentAsTool.ts";
import { endsOf, executionOf, visitIn, withinOf } from "../../agent/feature/ContextBinding.ts";
import type { ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { StateChanges } from "../../agent/state/CallChanges.ts";
import { lateFailures } from "../../agent/tool/callTimeout.ts";
import { decideRecorded, lostOutput, outputSubject, replayedOutput } from "../../agent/tool/recordedCall.ts";
import { isToolFailure } from "../../agent/tool/Tool.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { RequestNotOpenError } from "../../errors/requestErrors.ts";
import { NotSerializableError } from "../../errors/storedDataErrors.ts";
import { shownOf } from "../../checkpoint/records/runRecords.ts";
import { ToolFailedError, ToolNotStartedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { frozenCopy, countParts, frozenCopyInTurns } from "../../internal/frozenCopy.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { saveIfDue } from "../saving/saveIfDue.ts";
import type { CallEnd } from "../replay/EarlierCalls.ts";
import type { CheckpointToolCall } from "../../checkpoint/data/AgentCheckpointData.ts";

/** The maximum number of fields and nested values in an output, because encoding blocks the event loop. */
const maximumParts = 250_000;
const partsAtOnce = 10_000;

type Next = (event: ToolCallEvent) => Promise<unknown>;

/**
 * Makes a tool call unless it has finished. Records a call with an effect before it starts and after it ends. Does not
 * wait until the outcome is durable, because records that depend on it are later in the log.
 */
export function journalToolCall(recorder: RunRecorder, event: ToolCallEvent, next: Next): Promise<unknown> {
  const { toolCallId, origin } = event;
  recorder.calls.failures.clear();
  const make = () => replayOrPerform(recorder, event, next);
  if (origin.kind === "node") {
    const making = make();
    // A call within a tool is retried only by its tool.
    if (withinOf(event.context) === undefined) making.catch((error) => recorder.calls.failures.add(error));
    return making;
  }
  // If a message is executed twice, its calls have the same ids and return the same outcomes.
  const known = recorder.calls.resultOf(toolCallId);
  if (known) return known;
  const ended = recorder.calls.isForgotten(toolCallId)
    ? import("../replay/EarlierCalls.ts").then(({ readForgotten }) => readForgotten(recorder, toolCallId))
    : recorder.calls.earlier?.endOf(toolCallId);
  const performing = ended ? ended.then((end) => (end ? outputOfEnd(toolCallId, end, event.tool) : make())) : make();
  recorder.calls.performed.set(toolCallId, performing);
  performing.catch((error: unknown) => {
    if (!isToolFailure(error)) recorder.calls.performed.delete(toolCallId);
  });
  return performing;
}

async function replayOrPerform(recorder: RunRecorder, event: ToolCallEvent, next: Next): Promise<unknown> {
  const recorded = recorder.recording?.recordedCall(event);
  if (recorded) return replayOrRepeat(recorder, recorded, event, next);
  await saveBefore(recorder, event);
  const facts = intentOf(recorder, event);
  nameAgent(recorder, event, facts);
  await begin(recorder, facts);
  return perform(recorder, { facts, event, next });
}

async function replayOrRepeat(
  recorder: RunRecorder,
  { call, intent, outcome }: RecordedCall,
  event: ToolCallEvent,
  next: Next,
): Promise<unknown> {
  const decision = decideRecorded(outcome, recorder.setup.effectOf(event.tool));
  const end =
    outcome && decision === "replay"
      ? { outcome, output: recorder.recording?.outputOf(call) }
      : intent && decision === "ask" && (await resolveOnReplay(recorder, intent, event));
  if (end) return endsOf(event.context).deliver(call, () => replay(recorder, call, end, event), messageOf(event));
  await saveBefore(recorder, event);
  const known = { ...event, toolCallId: call };
  // The run may have moved since the call started. The outcome belongs to the current lane.
  const before = intent ?? intentOf(recorder, known);
  const facts = { ...before, lane: recorder.lane };
  if (before.lane !== facts.lane) nameAgent(recorder, event, facts);
  if (outcome?.retry) await begin(recorder, facts);
  else await recorder.answersDurable;
  return perform(recorder, { facts, event: known, next, again: true });
}

/** Records the call that runs a sub-agent. The calls of the sub-agent have their own records. */
function nameAgent({ journal }: RunRecorder, { tool }: ToolCallEvent, facts: IntentRecord): void {
  if (subAgentOf(tool)) journal.append([facts]);
}

function saveBefore(recorder: RunRecorder, { context, tool, input }: ToolCallEvent): Promise<void> {
  return saveIfDue(recorder, context, { kind: "tool_call_starting", nodeId: context.nodeId, tool, input });
}

async function begin(recorder: RunRecorder, facts: IntentRecord): Promise<void> {
  if (facts.effect === "none") return recorder.answersDurable;
  recorder.journal.append([facts]);
  return recorder.journal.durable();
}

interface Performance {
  readonly facts: IntentRecord;
  readonly event: ToolCallEvent;
  readonly next: Next;
  readonly again?: boolean;
}

async function perform(recorder: RunRecorder, performance: Performance): Promise<unknown> {
  const { facts, event } = performance;
  const { tool, input, context } = event;
  const completed = { kind: "tool_call_completed", nodeId: facts.node, tool, input } as const;
  const deliver = (happened: typeof completed & { readonly failed?: true }) =>
    endsOf(context).deliver(facts.call, () => saveIfDue(recorder, context, happened), messageOf(event));
  let output: unknown;
  try {
    output = await runRecorded(recorder, performance);
  } catch (error) {
    if (isToolFailure(error) || error instanceof NotSerializableError) await deliver({ ...completed, failed: true });
    throw error;
  }
  await deliver(completed);
  return output;
}

async function runRecorded(recorder: RunRecorder, performance: Performance): Promise<unknown> {
  const { facts, event, next } = performance;
  recorder.setup.redact?.input(recorder.journal.agentId, event.tool.name, event.input);
  recorder.calls.inFlight.set(facts.call, facts);
  try {
    const made = await next(event);
    const output = recorder.setup.redact?.output(event.tool.name, made) ?? made;
    const parts = partsIn(output);
    const isLarge = parts > partsAtOnce && parts <= maximumParts;
    return recordOutcome(recorder, facts, event, {
      output: isLarge ? await frozenCopyInTurns(output).catch(() => output) : output,
      parts,
    });
  } catch (error) {
    recordError(recorder, performance, error);
    throw error;
  }
}

function nameOf({ cause, errorName }: ToolFailedError): string | undefined {
  if (cause === undefined) return errorName;
  const { name = "" } = shownOf(cause);
  return name === "Error" ? undefined : name;
}

/** Records the error of a call. After an abort, records no outcome, because the call may have taken effect. */
function recordError(recorder: RunRecorder, { facts, event, again }: Performance, error: unknown): void {
  if (error instanceof ToolFailedError) {
    const { reason } = error;
    const failedCalls = failedCallsIn(error.cause);
    const name = nameOf(error);
    const end = {
      error: { message: reason, ...(name !== undefined && { name }) },
      ...(failedCalls.length > 0 && { failedCalls }),
      ...(facts.effect !== "none" && lateFailures.has(error) && { late: true as const }),
    };
    recordEnd(recorder, event, facts, end, { status: "failed", error: reason });
  }
  if (error instanceof ToolOutcomeUnknownError)
    recordEnd(recorder, event, facts, { unknown: true }, { status: "unknown" });
  if (error instanceof ToolNotStartedError && facts.effect !== "none" && !again)
    recordEnd(recorder, event, facts, { unstarted: true });
}

function partsIn(output: unknown): number {
  try {
    return countParts(output, maximumParts);
  } catch {
    return 0;
  }
}

function recordOutcome(
  recorder: RunRecorder,
  facts: IntentRecord,
  event: ToolCallEvent,
  given: { readonly output: unknown; readonly parts: number },
): unknown {
  const { tool } = event;
  const { writer } = recorder.journal;
  try {
    if (given.parts > maximumParts)
      throw unsavedOutput(tool, "", `is circular or has more than ${maximumParts} fields and nested values`);
    const output = frozenCopy(given.output);
    const slot = writer.value(output, outputSubject(tool.name));
    recordEnd(recorder, event, facts, { output: slot }, { status: "succeeded", output });
    writer.noteOutcome(facts.call, output, recorder.lane);
    return output;
  } catch (error) {
    if (recorder.journal.failed) throw error;
    // The tool has taken effect. The record allows a rollback and prevents a second call.
    const { path, reason } = lostOutput(error);
    const refusal = unsavedOutput(tool, path, reason);
    recordEnd(recorder, event, facts, { lost: { path: refusal.path, reason } }, { status: "lost" });
    throw refusal;
  }
}

/** The advice for a call with a lost output, after which only a rollback helps. */
const afterLost = " The call is not repeated. Change the tool, then roll back to a checkpoint before the call.";

function unsavedOutput(tool: ToolCallEvent["tool"], path: string, reason: string): NotSerializableError {
  return new NotSerializableError(outputSubject(tool.name), path, reason, afterLost);
}

function intentOf(recorder: RunRecorder, event: ToolCallEvent): IntentRecord {
  const { writer } = recorder.journal;
  const { origin, tool, input, context } = event;
  return withoutUndefined({
    kind: "intent",
    lane: recorder.lane,
    visit: visitIn(event.visit),
    call: event.toolCallId,
    tool: tool.name,
    effect: recorder.setup.effectOf(tool),
    node: context.nodeId,
    input: isInAnswer(event, writer) ? undefined : writer.value(input, `the input of tool "${tool.name}"`),
    inverse: recorder.setup.registry.has(tool.name) || undefined,
    ordinal: origin.kind === "node" ? origin.ordinal : undefined,
    within: withinOf(context),
  });
}

/** Returns whether a recorded response contains exactly this call. An interceptor can change its id, tool or input. */
function isInAnswer({ origin, toolCallId, tool, input }: ToolCallEvent, writer: ValueWriter): boolean {
  if (origin.kind !== "model" || !writer.isAnswer(origin.message)) return false;
  const part = origin.message.content[origin.index];
  if (typeof part !== "object" || part.type !== "tool-call") return false;
  return part.toolCallId === toolCallId && part.toolName === tool.name && part.input === input;
}

async function replay(recorder: RunRecorder, call: string, end: CallEnd, event: ToolCallEvent): Promise<unknown> {
  const { context, tool } = event;
  const changes = end.outcome.changes && recorder.recording?.changesOf(call);
  if (changes !== undefined)
    (await import("../../agent/feature/repeatChanges.ts")).repeatChanges(context, call, changes, end.outcome.renames);
  const output = outputOfEnd(call, end, tool);
  recorder.journal.writer.noteOutcome(call, output, recorder.lane);
  return output;
}

/** @throws the recorded error of a call without an output. */
function outputOfEnd(call: string, { outcome, output }: CallEnd, tool: ToolCallEvent["tool"]): unknown {
  return replayedOutput(tool.name, call, { ...outcome, output }, afterLost);
}

/** Returns the message of a call. A node awaits the calls of one message together, so they form a group. */
function messageOf({ origin }: ToolCallEvent): object | undefined {
  return origin.kind === "model" ? origin.message : undefined;
}

/** Returns the ids of the failed calls and of the expired requests that caused an error. */
export function failedCallsIn(error: unknown): readonly string[] {
  const calls = new Set<string>();
  const seen = new Set<unknown>();
  const left = [error];
  for (const found of left) {
    if (seen.has(found)) continue;
    seen.add(found);
    if (found instanceof ToolFailedError)
      for (const call of [found.toolCallId, ...(found.failedCalls ?? [])]) calls.add(call);
    if (found instanceof RequestNotOpenError) calls.add(found.requestId);
    left.push(...causesOf(found));
  }
  return [...calls];
}

/** Ignores getters that throw, because any value can be thrown. */
function causesOf(error: unknown): readonly unknown[] {
  try {
    if (!(error instanceof Error)) return [];
    const { cause, errors } = error as { readonly cause?: unknown; readonly errors?: unknown };
    return [...(cause === undefined ? [] : [cause]), ...(Array.isArray(errors) ? errors : [])];
  } catch {
    return [];
  }
}

/**
 * Returns the outcome of an interrupted call. `undefined` if the call must be repeated.
 *
 * @throws ToolCallInDoubtError
 */
async function resolveOnReplay(
  recorder: RunRecorder,
  intent: IntentRecord,
  event: ToolCallEvent,
): Promise<CallEnd | undefined> {
  const { tool, input, context } = event;
  const { setup, journal, lane } = recorder;
  const { agentId, nodeId, signal } = context;
  const asked = { agentId, toolCallId: intent.call, toolName: tool.name, nodeId, effect: setup.effectOf(tool), input };
  const { settledEnd } = await import("../../doubt/askWhatHappened.ts");
  const settled = await settledEnd(asked, { tool, choice: setup.onToolCallInDoubt, signal }, journal.writer);
  if (!settled) return undefined;
  const { end, shown } = settled;
  recordEnd(recorder, event, { ...intent, lane }, end, shown);
  const { visit, call } = intent;
  return {
    outcome: { kind: "outcome", lane, visit, call, ...end },
    ...("output" in shown && { output: shown.output }),
  };
}

/** Appends the outcome of a call. If the start has no record, the outcome contains its fields. */
function recordEnd(
  recorder: RunRecorder,
  { context, input }: ToolCallEvent,
  facts: IntentRecord,
  end: Partial<OutcomeRecord>,
  shown?: Pick<CheckpointToolCall, "status" | "output" | "error">,
): void {
  recorder.calls.inFlight.delete(facts.call);
  if (recorder.calls.moved.has(facts.call)) return;
  const { lane, visit, call, tool, effect } = facts;
  const changes = executionOf(context).changes?.take(call);
  const ended = { ...end, ...(changes && storedChanges(recorder, call, changes)) };
  recorder.journal.append([
    effect === "none" ? { ...facts, kind: "outcome", ...ended } : { kind: "outcome", lane, visit, call, ...ended },
  ]);
  // A call that did not start has no result to deliver.
  if (!shown) return;
  endsOf(context).add(call);
  recorder.endedCalls.push({ toolCallId: call, toolName: tool, effect, input, ...shown });
}

/** Returns the changes of a call in stored form, or none if one of their values cannot be stored. */
function storedChanges({ journal }: RunRecorder, call: string, changes: StateChanges): Pick<OutcomeRecord, "changes"> {
  try {
    return { changes: journal.writer.value(changes, `the changes of call ${call}`) };
  } catch (error) {
    if (error instanceof NotSerializableError) return {};
    throw error;
  }
}
