import { callOf } from "../../agent/feature/ContextBinding.ts";
import { isToolFailure } from "../../agent/tool/isToolFailure.ts";
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
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { saveIfDue } from "../record/saveIfDue.ts";
import { discardReplay } from "./discardReplay.ts";
import { recordEnd, shownCall } from "./recordEnd.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import { resolveOnReplay, type CallEnd } from "./resolveOnReplay.ts";

type Next = (event: ToolCallEvent) => Promise<unknown>;

/**
 * A tool call of a durable run: one that ended before is not run again; one with a side effect is recorded before it
 * begins and after it ended. What follows from an outcome comes later in the same log, so it is not waited for.
 */
export function journalToolCall(
  session: RunRecorder,
  setup: PersistenceSetup,
  event: ToolCallEvent,
  next: Next,
): Promise<unknown> {
  const { toolCallId } = event;
  const known = session.performed.get(toolCallId);
  // One id is one call: a message that is executed twice gets the same outcomes.
  if (known) return known;
  const performing = replayOrPerform(session, setup, event, next);
  session.performed.set(toolCallId, performing);
  performing.catch((error: unknown) => {
    if (!isToolFailure(error)) session.performed.delete(toolCallId);
  });
  return performing;
}

async function replayOrPerform(
  session: RunRecorder,
  setup: PersistenceSetup,
  event: ToolCallEvent,
  next: Next,
): Promise<unknown> {
  const effect = setup.effectOf(event.tool);
  const repeatable = effect === "none" || effect === "idempotent";
  const recorded = recordedCall(session, event);
  if (!recorded) {
    await saveBefore(session, setup, event);
    const facts = intentOf(session, setup, event);
    await begin(session, facts);
    return perform(session, setup, { facts, event, next });
  }
  const end =
    endOf(session, recorded) ?? (repeatable ? undefined : await resolveOnReplay(session, setup, recorded, event));
  if (end && !(end.outcome.lost && repeatable)) return replay(session, recorded.call, end, event);
  await saveBefore(session, setup, event);
  const known = { ...event, toolCallId: recorded.call };
  // What follows stands on the line of now, which may be another than the one where the call began.
  const facts = { ...(recorded.intent ?? intentOf(session, setup, known)), lane: session.lane };
  if (recorded.outcome?.retry) await begin(session, facts);
  else await session.answersDurable;
  return perform(session, setup, { facts, event: known, next, again: true });
}

function saveBefore(
  session: RunRecorder,
  setup: PersistenceSetup,
  { context, tool, input }: ToolCallEvent,
): Promise<void> {
  return saveIfDue(setup, session, context, { kind: "tool_call_starting", nodeId: context.nodeId, tool, input });
}

/** The answer that asked for a call, and the intent of one with an effect, are durable before it begins. */
async function begin(session: RunRecorder, facts: IntentRecord): Promise<void> {
  if (facts.effect === "none") return session.answersDurable;
  session.journal.append([facts]);
  return session.journal.durable();
}

interface Performance {
  readonly facts: IntentRecord;
  readonly event: ToolCallEvent;
  readonly next: Next;
  /** True when the call began before, and may have had its effect then. */
  readonly again?: boolean;
}

async function perform(session: RunRecorder, setup: PersistenceSetup, performance: Performance): Promise<unknown> {
  const { facts, event } = performance;
  const output = await runRecorded(session, performance);
  const { tool, input } = event;
  await saveIfDue(setup, session, event.context, { kind: "tool_call_completed", nodeId: facts.node, tool, input });
  return output;
}

async function runRecorded(session: RunRecorder, performance: Performance): Promise<unknown> {
  const { facts, event, next } = performance;
  session.inFlight.set(facts.call, facts);
  try {
    return recordOutcome(session, facts, event, await next(event));
  } catch (error) {
    recordError(session, performance, error);
    throw error;
  } finally {
    session.inFlight.delete(facts.call);
  }
}

/** A call that was cut short by an abort has no outcome: it may or may not have had its effect. */
function recordError(session: RunRecorder, { facts, event, again }: Performance, error: unknown): void {
  if (error instanceof ToolFailedError) {
    const { reason } = error;
    recordEnd(
      session,
      facts,
      { error: { message: reason } },
      { ...shownCall(facts, event.input), status: "failed", error: reason },
    );
  }
  // Without an effect there is no intent to take back.
  if (error instanceof ToolNotStartedError && facts.effect !== "none" && !again)
    recordEnd(session, facts, { unstarted: true });
}

/** @returns the output as everybody after gets it. */
function recordOutcome(session: RunRecorder, facts: IntentRecord, event: ToolCallEvent, given: unknown): unknown {
  const { writer } = session.journal;
  const subject = `the output of tool "${event.tool.name}"`;
  try {
    const output = frozenCopy(given);
    const slot = writer.value(output, subject);
    recordEnd(session, facts, { output: slot }, { ...shownCall(facts, event.input), status: "succeeded", output });
    writer.noteOutcome(facts.call, output);
    return output;
  } catch (error) {
    if (session.journal.failed) throw error;
    // The effect has happened: that much is recorded, so that it can be rolled back and is not repeated.
    const refusal =
      error instanceof NotSerializableError
        ? error
        : new NotSerializableError(subject, "", `cannot be copied: ${reasonOf(error)}`);
    recordEnd(
      session,
      facts,
      { lost: { path: refusal.path, reason: refusal.reason } },
      { ...shownCall(facts, event.input), status: "lost" },
    );
    throw refusal;
  }
}

function intentOf(session: RunRecorder, setup: PersistenceSetup, event: ToolCallEvent): IntentRecord {
  const { writer } = session.journal;
  const { origin, tool, input, context } = event;
  const within = callOf(context)?.toolCallId;
  const inAnswer = origin.kind === "model" && writer.isAnswer(origin.message);
  return {
    kind: "intent",
    lane: session.lane,
    visit: visitOf(event),
    call: event.toolCallId,
    tool: tool.name,
    effect: setup.effectOf(tool),
    node: context.nodeId,
    ...(!inAnswer && { input: writer.value(input, `the input of tool "${tool.name}"`) }),
    ...(setup.registry.has(tool.name) && { inverse: true }),
    ...(origin.kind === "node" && { ordinal: origin.ordinal }),
    ...(within !== undefined && { within }),
  };
}

/** What is recorded of a call; `undefined` when nothing is, or something else and the visit goes on afresh. */
function recordedCall(session: RunRecorder, event: ToolCallEvent): RecordedCall | undefined {
  const { recording } = session;
  const { origin, tool, context, input } = event;
  const recorded =
    origin.kind === "model"
      ? recording?.call(event.toolCallId)
      : recording?.callAt(visitOf(event), origin.ordinal, callOf(context)?.toolCallId);
  if (!recorded || recording?.isSame(recorded, tool.name, input)) return recorded;
  const before = callFacts(recorded).tool;
  const found = before === tool.name ? `a call of "${tool.name}" with another input` : `a call of "${tool.name}"`;
  discardReplay(session, context, visitOf(event), { recorded: `a call of "${before}" (${recorded.call})`, found });
  return undefined;
}

/** `undefined` for a call in doubt, and for one that was settled to be made again. */
function endOf({ recording }: RunRecorder, { call, outcome }: RecordedCall): CallEnd | undefined {
  return outcome && !outcome.retry ? { outcome, output: recording?.outputOf(call) } : undefined;
}

function replay(session: RunRecorder, call: string, { outcome, output }: CallEnd, { tool }: ToolCallEvent): unknown {
  if (outcome.error) throw new ToolFailedError(tool.name, call, outcome.error.message);
  if (outcome.unknown) throw new ToolOutcomeUnknownError(tool.name, call);
  if (outcome.lost)
    throw new NotSerializableError(`the output of tool "${tool.name}"`, outcome.lost.path, outcome.lost.reason);
  session.journal.writer.noteOutcome(call, output);
  return output;
}

function visitOf({ visit }: ToolCallEvent): Visit {
  return [visit.base, visit.ordinal];
}
