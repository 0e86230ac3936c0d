import { callOf } from "../agent/ContextBinding.ts";
import { reasonOf } from "../agent/reasonOf.ts";
import type { ToolCallEvent } from "../agent/PipelineEvents.ts";
import type { ToolEffect } from "../agent/Tool.ts";
import type { RecordedCall } from "../checkpoint/AgentState.ts";
import type { CheckpointToolCall } from "../checkpoint/AgentCheckpointData.ts";
import type { IntentRecord, OutcomeRecord, Visit } from "../checkpoint/records.ts";
import { isSameValue } from "../checkpoint/isSameValue.ts";
import { callFacts } from "../checkpoint/toolCalls.ts";
import { NotSerializableError } from "../errors/NotSerializableError.ts";
import { ReplayDivergedError } from "../errors/ReplayDivergedError.ts";
import { ToolCallInDoubtError } from "../errors/ToolCallInDoubtError.ts";
import { ToolFailedError } from "../errors/ToolFailedError.ts";
import { ToolNotStartedError } from "../errors/ToolNotStartedError.ts";
import { isolate } from "../internal/isolate.ts";
import type { RunSession } from "./RunSession.ts";

type Next = (event: ToolCallEvent) => Promise<unknown>;

/**
 * A tool call of a durable run: one that ended before is not run again; one with a side effect is recorded before it
 * begins and after it ended. What follows from an outcome comes later in the same log, so it is not waited for.
 */
export function journalToolCall(
  session: RunSession,
  effect: ToolEffect,
  event: ToolCallEvent,
  next: Next,
): Promise<unknown> {
  const { toolCallId } = event;
  const known = session.performed.get(toolCallId);
  // One id is one call: a message that is executed twice gets the same outcomes.
  if (known) return known;
  const performing = replayOrPerform(session, effect, event, next);
  session.performed.set(toolCallId, performing);
  performing.catch((error: unknown) => {
    if (!(error instanceof ToolFailedError)) session.performed.delete(toolCallId);
  });
  return performing;
}

async function replayOrPerform(
  session: RunSession,
  effect: ToolEffect,
  event: ToolCallEvent,
  next: Next,
): Promise<unknown> {
  const recorded = recordedCall(session, event);
  if (recorded?.outcome && !canRepeatLost(recorded.outcome, effect))
    return replay(session, recorded, recorded.outcome, event);
  if (recorded && effect !== "none" && effect !== "idempotent")
    throw new ToolCallInDoubtError(event.tool.name, recorded.call, event.context.nodeId);
  const known = recorded ? { ...event, toolCallId: recorded.call } : event;
  const facts = recorded?.intent ?? intentOf(session, effect, known);
  if (!recorded && effect !== "none") {
    session.journal.append([facts]);
    await session.journal.durable();
  } else {
    await session.answersDurable;
  }
  return perform(session, facts, known, next);
}

/** An output that could not be stored is lost; a call that may be repeated is, so that mended code goes on. */
function canRepeatLost({ lost }: OutcomeRecord, effect: ToolEffect): boolean {
  return lost !== undefined && (effect === "none" || effect === "idempotent");
}

async function perform(session: RunSession, facts: IntentRecord, event: ToolCallEvent, next: Next): Promise<unknown> {
  session.inFlight.set(facts.call, facts);
  try {
    return recordOutcome(session, facts, event, await next(event));
  } catch (error) {
    recordError(session, facts, event, error);
    throw error;
  } finally {
    session.inFlight.delete(facts.call);
  }
}

/** A call that was cut short by an abort has no outcome: it may or may not have had its effect. */
function recordError(session: RunSession, facts: IntentRecord, event: ToolCallEvent, error: unknown): void {
  if (error instanceof ToolFailedError) {
    const { reason } = error;
    record(session, facts, { error: { message: reason } }, { ...shown(facts, event), status: "failed", error: reason });
  }
  // Without an effect there is no intent to take back.
  if (error instanceof ToolNotStartedError && facts.effect !== "none") record(session, facts, { unstarted: true });
}

/** @returns the output as everybody after gets it. */
function recordOutcome(session: RunSession, facts: IntentRecord, event: ToolCallEvent, given: unknown): unknown {
  const { writer } = session.journal;
  const subject = `the output of tool "${event.tool.name}"`;
  try {
    const output = isolate(given);
    const slot = writer.value(output, subject);
    record(session, facts, { output: slot }, { ...shown(facts, event), status: "succeeded", output });
    writer.noteOutcome(facts.call, output);
    return output;
  } catch (error) {
    if (session.journal.failed) throw error;
    // The effect has happened: that much is recorded, so that it can be rolled back and is not repeated.
    const refusal =
      error instanceof NotSerializableError
        ? error
        : new NotSerializableError(subject, "", `cannot be copied: ${reasonOf(error)}`);
    record(
      session,
      facts,
      { lost: { path: refusal.path, reason: refusal.reason } },
      { ...shown(facts, event), status: "lost" },
    );
    throw refusal;
  }
}

function record(
  session: RunSession,
  facts: IntentRecord,
  end: Partial<OutcomeRecord>,
  call?: CheckpointToolCall,
): void {
  if (session.movedCalls.has(facts.call)) return;
  const { kind: _kind, ...unsaid } = facts;
  const { lane, visit, call: id } = facts;
  const outcome: OutcomeRecord =
    facts.effect === "none"
      ? { ...unsaid, kind: "outcome", ...end }
      : { kind: "outcome", lane, visit, call: id, ...end };
  session.journal.append([outcome]);
  if (call) session.endedCalls.push(call);
}

function shown(facts: IntentRecord, event: ToolCallEvent) {
  return { toolCallId: facts.call, toolName: facts.tool, effect: facts.effect, input: event.input };
}

function intentOf(session: RunSession, effect: ToolEffect, event: ToolCallEvent): IntentRecord {
  const { writer } = session.journal;
  const { asked, tool, input, context } = event;
  const within = callOf(context)?.toolCallId;
  const inAnswer = asked.kind === "model" && writer.isAnswer(asked.message);
  return {
    kind: "intent",
    lane: session.lane,
    visit: visitOf(event),
    call: event.toolCallId,
    tool: tool.name,
    effect,
    node: context.nodeId,
    ...(!inAnswer && { input: writer.value(input, `the input of tool "${tool.name}"`) }),
    ...(asked.kind === "node" && { ordinal: asked.ordinal, ...(within !== undefined && { within }) }),
  };
}

/** What is recorded of a call; `undefined` when nothing is, or something else without effect: then it is made afresh. */
function recordedCall(session: RunSession, event: ToolCallEvent): RecordedCall | undefined {
  const { asked, tool, context } = event;
  // The input of a call that a model asked for stands in the recorded answer.
  if (asked.kind === "model") return session.recording?.call(event.toolCallId);
  const recorded = session.recording?.callAt(visitOf(event), asked.ordinal, callOf(context)?.toolCallId);
  if (!recorded) return undefined;
  const facts = callFacts(recorded);
  const sameInput = isSameValue(session.recording?.inputOf(recorded.call), event.input);
  if (facts.tool === tool.name && sameInput) return recorded;
  if (facts.effect === "none" || recorded.outcome?.error) return undefined;
  const found = facts.tool === tool.name ? `a call of "${tool.name}" with another input` : `a call of "${tool.name}"`;
  throw new ReplayDivergedError(context.nodeId, recorded.call, `a call of "${facts.tool}"`, found);
}

function replay(session: RunSession, { call }: RecordedCall, outcome: OutcomeRecord, { tool }: ToolCallEvent): unknown {
  if (outcome.error) throw new ToolFailedError(tool.name, call, outcome.error.message);
  if (outcome.lost)
    throw new NotSerializableError(`the output of tool "${tool.name}"`, outcome.lost.path, outcome.lost.reason);
  const output = session.recording?.outputOf(call);
  session.journal.writer.noteOutcome(call, output);
  return output;
}

function visitOf({ visit }: ToolCallEvent): Visit {
  return [visit.base, visit.ordinal];
}
