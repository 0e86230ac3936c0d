import type { AgentContext } from "../../agent/context/AgentContext.ts";
import {
  askedQuestion,
  questionDigest,
  sleepMsSchema,
  sleepUntilSchema,
  type InputRequest,
  type ReceiveOptions,
} from "../../agent/context/InputRequest.ts";
import { timeoutFailure } from "../../agent/tool/callTimeout.ts";
import { lostOutput, outputSubject } from "../../agent/tool/recordedCall.ts";
import type { AnyTool, ToolCallOptions } from "../../agent/tool/Tool.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { RecordedRequest } from "../../checkpoint/state/AgentState.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { ExecutionMovedError } from "../../errors/runErrors.ts";
import { RequestNotOpenError, RequestRejectedError } from "../../errors/requestErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import { leftMs, answerSubject } from "../waiting/askedRecords.ts";
import type { Rollback } from "./RollbackReport.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { onAbort, withGrace, pause } from "../../internal/abortable.ts";

const unanswered = Symbol("unanswered");

/** Repeats a call in doubt, because its inverse needs the output. Records a call that waits for an answer. */
export async function repeatCall(
  call: LoggedCall,
  tool: AnyTool,
  rollback: Rollback,
): Promise<LoggedCall | { readonly error: unknown }> {
  const { intent, outcome: before, lane } = call;
  if (before && !before.retry && !before.late) return call;
  const { journal } = rollback;
  const stored = await checkedInput(tool, call);
  if ("error" in stored) return stored;
  // The new intent replaces the recorded outcome, so that a crash leaves the repeated call in doubt.
  if (intent && before) await journal.store([{ ...intent, lane }]);
  const called = { name: tool.name, toolCallId: call.call, timeoutMs: tool.timeoutMs, effect: tool.effect };
  const end = await attempt(called, rollback, (signal) =>
    executeAgain(tool, call, stored.input, { ...rollback, signal }),
  );
  if (end.failed) return { error: end.error };
  const { outcome, output } = endOf(call, end.output, journal);
  await journal.store([outcome]);
  return { ...call, outcome, output: () => output };
}

function executeAgain(tool: AnyTool, call: LoggedCall, input: unknown, rollback: Rollback): Promise<unknown> {
  let stop: (value: typeof unanswered) => void;
  const stopped = new Promise((resolve) => (stop = resolve));
  const stopHere = () => stop(unanswered);
  const waits = {
    requestInput: replayedRequests(call, rollback, stopHere),
    ...repeatedSleeps(call, rollback, stopHere),
    receive: replayedEvents(call, rollback, stopHere),
  };
  const options = callOptions(call.call, rollback, waits);
  return Promise.race([stopped, tool.execute(input as never, options)]);
}

/** Returns recorded answers to the requests of a repeated call. @param stop Called for an unanswered request. */
function replayedRequests(call: LoggedCall, rollback: Rollback, stop: () => void): AgentContext["requestInput"] {
  const { journal } = rollback;
  const asked = new Map<string, number>();
  return async (request) => {
    const question = questionDigest(askedQuestion(request), journal.sha256);
    const ordinal = asked.get(question) ?? 0;
    asked.set(question, ordinal + 1);
    const made = requestsOf(call, rollback).find(({ record }) => isSame(record, request, { question, ordinal }));
    const answer = made && (await answerOf(made, request, rollback));
    if (answer) return answer.value as never;
    stop();
    return new Promise<never>(() => {});
  };
}

/** Returns the events that the call received before. Another event stops the repeated call. */
function replayedEvents(call: LoggedCall, rollback: Rollback, stop: () => void): AgentContext["receive"] {
  const received = new Map<string, number>();
  return async (name: string, { schema }: ReceiveOptions) => {
    const ordinal = received.get(name) ?? 0;
    received.set(name, ordinal + 1);
    const made = requestsOf(call, rollback).find(
      ({ record }) => record.event === name && record.within === call.call && record.ordinal === ordinal,
    );
    if (!made?.reply) return new Promise<never>(stop);
    if (made.reply.expired) return undefined as never;
    const { payload } = rollback.log.readValue(made.reply.answer) as { readonly payload: unknown };
    return checkSchemaAsync(schema, payload, `payload of event "${name}"`) as never;
  };
}

type Waits = Pick<AgentContext, "requestInput" | "sleep" | "sleepUntil" | "receive">;

/** Waits for the rest of the recorded sleeps. A long sleep stops the repeated call. */
function repeatedSleeps(call: LoggedCall, rollback: Rollback, stop: () => void): Pick<Waits, "sleep" | "sleepUntil"> {
  const { setup, signal } = rollback;
  const { clock, sleepInProcessMs } = setup;
  let slept = 0;
  const wait = async (ms: number): Promise<void> => {
    const ordinal = slept++;
    const made = requestsOf(call, rollback).find(
      ({ record }) => record.waitingFor === "timer" && record.within === call.call && record.ordinal === ordinal,
    );
    if (made?.reply) return;
    const { expiresAt: end, at = end } = made?.record ?? {};
    const left = end === undefined || at === undefined ? ms : leftMs(clock, { at, end });
    if (left > sleepInProcessMs) return new Promise(stop);
    await pause(clock, left, signal);
    signal.throwIfAborted();
  };
  return {
    async sleep(ms) {
      checkSchema(sleepMsSchema, ms, "argument of sleep()");
      return wait(ms);
    },
    async sleepUntil(date) {
      checkSchema(sleepUntilSchema, date, "argument of sleepUntil()");
      return wait(Math.max(0, date.getTime() - clock.now()));
    },
  };
}

function requestsOf({ call, lane }: LoggedCall, { log }: Rollback): readonly RecordedRequest[] {
  const requests = [...(foldLine(log.index, lane)?.requests.values() ?? [])];
  return requests.filter(({ record }) => !record.approval && (record.within === call || record.id !== undefined));
}

function isSame(
  record: RequestRecord,
  { id }: InputRequest,
  asked: { readonly question: string; readonly ordinal: number },
): boolean {
  if ((record.question ?? asked.question) !== asked.question) return false;
  return id === undefined ? record.ordinal === asked.ordinal : record.id === id;
}

/**
 * Returns the recorded answer to a request. `undefined` if the schema rejects it, because the call then made another
 * request.
 *
 * @throws the error with which the request ended
 */
async function answerOf(
  { record, reply }: RecordedRequest,
  { schema }: InputRequest,
  { journal: { agentId }, log }: Rollback,
): Promise<{ readonly value: unknown } | undefined> {
  if (!reply) return undefined;
  const { request, expiresAt = 0 } = record;
  if (reply.rejected !== undefined) throw new RequestRejectedError(agentId, request, reply.rejected, reply.by);
  if (reply.expired)
    throw new RequestNotOpenError("request_expired", agentId, request, new Date(expiresAt).toISOString());
  try {
    return { value: await checkSchemaAsync(schema, log.readValue(reply.answer), answerSubject(request)) };
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined;
    throw error;
  }
}

function endOf(
  { lane, visit, call, tool }: LoggedCall,
  given: unknown,
  { writer }: Journal,
): { readonly outcome: OutcomeRecord; readonly output?: unknown } {
  const ended = { kind: "outcome", lane, visit, call } as const;
  if (given === unanswered) return { outcome: { ...ended, suspended: true } };
  try {
    const output = frozenCopy(given);
    return { outcome: { ...ended, output: writer.value(output, outputSubject(tool)) }, output };
  } catch (error) {
    return { outcome: { ...ended, lost: lostOutput(error) } };
  }
}

/** Validates the recorded input with the current schema, because data in the log may be forged. */
export async function checkedInput(
  tool: AnyTool,
  call: LoggedCall,
): Promise<{ readonly input: unknown } | { readonly error: unknown }> {
  try {
    return { input: await checkSchemaAsync(tool.inputSchema, call.input(), `stored input of tool "${tool.name}"`) };
  } catch (error) {
    return { error };
  }
}

/** Creates the options for an inverse. Its context has only the target of the rollback. By default, waits throw. */
export function callOptions(
  toolCallId: string,
  { journal, target, signal }: Rollback,
  waits: Partial<Waits> = {},
): ToolCallOptions {
  const { agentId, generation } = journal;
  const nodeId = target.record.node;
  const closed = (): never => {
    throw new ExecutionMovedError(nodeId);
  };
  const context: AgentContext = {
    agentId,
    runId: target.runId,
    nodeId,
    signal,
    get llm() {
      return closed();
    },
    get tools() {
      return closed();
    },
    get storage() {
      return closed();
    },
    setProgress: closed,
    recordDecision: closed,
    require: closed,
    requestInput: closed,
    sleep: closed,
    sleepUntil: closed,
    receive: closed,
    ...waits,
    feature: closed,
  };
  return { toolCallId, generation, messages: [], abortSignal: signal, context };
}

type InverseAttempt =
  | { readonly failed: false; readonly output: unknown }
  | { readonly failed: true; readonly error: unknown };

interface Attempted {
  readonly name: string;
  readonly toolCallId: string;
  /** Defaults to the `toolTimeoutMs` of the agent. */
  readonly timeoutMs: AnyTool["timeoutMs"];
  readonly effect: AnyTool["effect"];
}

/** Tries an inverse or a repeated call up to `attempts` times in its time limit. @throws the reason of the signal. */
export async function attempt(
  called: Attempted,
  rollback: Rollback,
  action: (signal: AbortSignal) => unknown,
): Promise<InverseAttempt> {
  const { setup, journal, signal } = rollback;
  const { attempts = 3, delayMs = 100 } = setup.inverseRetry;
  for (let made = 1; ; made++) {
    signal.throwIfAborted();
    try {
      return { failed: false, output: await inTime(called, rollback, action) };
    } catch (error) {
      signal.throwIfAborted();
      if (made >= attempts || error instanceof ToolOutcomeUnknownError) return { failed: true, error };
    }
    await pause(journal.clock, delayMs, signal);
  }
}

/** Runs an action. After its time limit or an abort, waits for it during the grace period. */
async function inTime(
  called: Attempted,
  { setup, journal: { clock }, signal }: Rollback,
  action: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const controller = new AbortController();
  const unlisten = onAbort(signal, () => controller.abort(signal.reason));
  const { timeoutMs = setup.pipeline.toolTimeoutMs } = called;
  const stop = () => controller.abort(timeoutFailure(called, called.toolCallId, timeoutMs));
  const cancel = timeoutMs < Infinity ? clock.after(timeoutMs, stop) : () => undefined;
  try {
    return await withGrace(controller.signal, setup.abortGrace, () => action(controller.signal));
  } finally {
    cancel();
    unlisten();
  }
}
