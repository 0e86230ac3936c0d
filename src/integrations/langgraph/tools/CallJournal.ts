import { toolCallIdAt } from "../../../checkpoint/ids/toolCallId.ts";
import { valueDigest } from "../../../checkpoint/values/isSameValue.ts";
import { askWhatHappened } from "../../../doubt/askWhatHappened.ts";
import {
  checkSettlement,
  type OnToolCallInDoubt,
  type ToolCallInDoubt,
  type ToolCallSettlement,
} from "../../../doubt/ToolCallInDoubt.ts";
import { quoted } from "../../../errors/AgentPersistenceError.ts";
import { ReplayDivergedError } from "../../../errors/runErrors.ts";
import { NotSerializableError } from "../../../errors/storedDataErrors.ts";
import { ToolOutsideThreadError } from "../../../errors/integrationErrors.ts";
import { ToolCallNotInDoubtError, ToolOutcomeUnknownError } from "../../../errors/toolCallErrors.ts";
import { nextTurn } from "../../../internal/nextTurn.ts";
import { reasonOf } from "../../../internal/reasonOf.ts";
import type { LogStorage } from "../../../storage/PersistenceStorageProvider.ts";
import { type Telemetry, traced } from "../../../telemetry/Telemetry.ts";
import { outputSubject } from "../../../agent/tool/recordedCall.ts";
import type { ToolCode, ToolEffect } from "../../../agent/tool/Tool.ts";
import { type HostedProbe, hostedTool } from "../../hosted/HostedTool.ts";
import type { OwnedThread, StoredThreads } from "../saver/StoredThreads.ts";
import type { SeenCheckpoints } from "../saver/SeenCheckpoints.ts";
import type { StoredCallEnd, CallRecord } from "../thread/GraphRecord.ts";
import type { StoredCall } from "../thread/ThreadState.ts";
import type { Json } from "../values/Json.ts";
import type { ValueCoder } from "../write/ValueCoder.ts";
import { type CallDecision, isInDoubt, placeCall } from "./placeCall.ts";
import type { GraphToolSettings } from "./GraphTool.ts";
import { isLetThrough, letThrough } from "./letThrough.ts";
import type { PutsInFlight } from "../write/WriteOrder.ts";
import type { RefusedTasks } from "./RefusedTasks.ts";
import { answerTo, capturedOutput, callEndOf, recordedOutput, endOfSettlement } from "./storedOutput.ts";
import type { CallPlace, TaskPlace } from "./TaskPlace.ts";

interface CallJournalOptions {
  readonly checkpointer: object;
  readonly storage: LogStorage;
  readonly threads: StoredThreads;
  readonly coder: ValueCoder;
  readonly puts: PutsInFlight;
  readonly seen: SeenCheckpoints;
  readonly refused: RefusedTasks;
  readonly onToolCallInDoubt: OnToolCallInDoubt;
  readonly telemetry: Telemetry | undefined;
}

export interface MadeCall {
  readonly tool: string;
  readonly effect: ToolEffect;
  readonly probe: GraphToolSettings<unknown>["probe"];
  readonly task: TaskPlace;
  readonly place: CallPlace;
  /** The input before its validation. */
  readonly input: unknown;
  /** The input after validation by the schema. */
  readonly parsed: unknown;
  readonly signal: AbortSignal | undefined;
  readonly toolCallId: string | undefined;
  readonly perform: (id: string) => Promise<unknown>;
}

type CallCompletion = { readonly output: unknown } | { readonly thrown: unknown };

interface Performance {
  readonly thread: OwnedThread;
  readonly made: MadeCall;
  readonly facts: Omit<CallRecord, "kind" | "end" | "input">;
  readonly input: Json;
  readonly recorded: StoredCall | undefined;
}

const journals = new WeakMap<object, CallJournal>();

/** Records the tool calls of nodes in the log of their thread, and returns recorded results to repeated nodes. */
export class CallJournal {
  readonly #options: CallJournalOptions;
  /** The running calls, by thread and call id. A repeated node waits for its running calls. */
  readonly #running = new Map<string, Promise<CallCompletion>>();

  constructor(options: CallJournalOptions) {
    this.#options = options;
    journals.set(options.checkpointer, this);
  }

  get storage(): LogStorage {
    return this.#options.storage;
  }

  get checkpointer(): object {
    return this.#options.checkpointer;
  }

  /** @throws errors that are not failures of the tool, and that end the run */
  async call(made: MadeCall): Promise<CallCompletion> {
    const { threads, refused } = this.#options;
    if (made.place.isFirst) refused.begin(made.task);
    try {
      return await threads.use(made.task.threadId, (thread) => this.#callIn(thread, made));
    } catch (error) {
      letThrough(error);
      refused.add(made.task, error);
      throw error;
    }
  }

  /** Records the end of a call in doubt. @throws ToolCallNotInDoubtError, InvalidInputError, NotSerializableError */
  async settle(threadId: string, id: string, given: ToolCallSettlement): Promise<void> {
    const settlement = checkSettlement(given, id);
    const { threads, coder } = this.#options;
    const subject = `the settled output of call ${quoted(id)}`;
    const end = await endOfSettlement(coder, settlement, subject);
    await threads.use(threadId, async (thread) => {
      this.#assertInDoubt(thread, id);
      thread.append([{ kind: "call_end", call: id, end: { ...end(thread), settled: "outside" } }]);
      await thread.durable();
    });
  }

  #assertInDoubt({ state: { calls }, id: threadId }: OwnedThread, id: string): void {
    const inDoubt = calls
      .all()
      .filter((call) => isInDoubt(call) && !this.#running.has(runningKey(threadId, call.call)));
    if (inDoubt.some(({ call }) => call === id)) return;
    const shown = inDoubt.map(({ call, tool }) => ({ toolCallId: call, toolName: tool }));
    throw new ToolCallNotInDoubtError(threadId, id, calls.get(id) !== undefined, shown);
  }

  async #callIn(thread: OwnedThread, made: MadeCall): Promise<CallCompletion> {
    const { attempt } = made.place;
    const placed = this.#placed(thread, made, attempt.placed);
    attempt.placed = placed.catch(() => undefined);
    const { performance, decision } = await placed;
    const running = runningKey(thread.id, performance.facts.call);
    const known = this.#running.get(running);
    if (known) return this.#joined(await known, performance);
    const outcome = this.#shown(performance, decision);
    this.#running.set(running, outcome);
    try {
      return await outcome;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Returns a copy of the output of a running call for another call, whose id a tool message then gets. */
  async #joined(outcome: CallCompletion, performance: Performance): Promise<CallCompletion> {
    const { thread, facts } = performance;
    const end = thread.state.calls.get(facts.call)?.end;
    return end && "output" in outcome ? this.#replayed(performance, end) : outcome;
  }

  /** Assigns positions to the calls of a node execution, in the order in which the node made them. */
  async #placed(
    thread: OwnedThread,
    made: MadeCall,
    earlier: Promise<unknown>,
  ): Promise<{ readonly performance: Performance; readonly decision: CallDecision }> {
    const { coder, storage } = this.#options;
    const { tool, effect, task, place } = made;
    const input = await coder.encode(made.input, `the input of tool "${tool}"`);
    const sha256 = await storage.sha256();
    const digest = valueDigest(input, sha256);
    const of = await this.#checkpointOf(thread, made);
    await earlier;
    const asked = { tool, effect, digest, attempt: place.attempt.number };
    const { at, recorded, decision } = placeCall(thread.state.calls.of(task.task), place, asked);
    const line = { agentId: thread.id, runId: task.task, lane: 0 };
    const call =
      recorded && decision !== "perform"
        ? recorded.call
        : toolCallIdAt(line, JSON.stringify([at, tool, digest]), sha256);
    const facts = { call, of, task: task.task, at, tool, effect, node: task.node, digest };
    return { performance: { thread, made, facts, input, recorded }, decision };
  }

  async #shown(performance: Performance, decision: CallDecision): Promise<CallCompletion> {
    const { thread, made, facts } = performance;
    const { call: toolCallId, tool: toolName, node: nodeId, effect } = facts;
    const operation = { kind: "execute_tool", agentId: thread.id, nodeId, toolName, toolCallId, effect } as const;
    let outcome: CallCompletion | undefined;
    const shown = traced(
      this.#options.telemetry,
      () => operation,
      async (span) => {
        span.addContent(() => ({ input: made.input }));
        if (decision === "replay") span.add({ replayed: true });
        const ended = await this.#decided(performance, decision);
        outcome = ended;
        if ("output" in ended) span.addContent(() => ({ output: ended.output }));
        else if (isBubbleUp(ended.thrown)) span.add({ status: "suspended" });
        else throw ended.thrown;
      },
    );
    await shown.catch((error: unknown) => {
      if (!outcome) throw error;
    });
    return outcome as CallCompletion;
  }

  async #decided(performance: Performance, decision: CallDecision): Promise<CallCompletion> {
    const { thread, facts, recorded } = performance;
    if (decision === "diverged") throw diverged(performance);
    if (decision === "ask") return this.#settled(performance);
    if (decision === "replay") return this.#replayed(performance, recorded?.end ?? {});
    if (decision === "perform" && facts.effect !== "none") {
      thread.append([callRecord(performance)]);
      await thread.durable();
    }
    return this.#performed(performance);
  }

  /** Waits until the checkpoint that the task follows is stored, because the records of its calls refer to it. */
  async #checkpointOf(thread: OwnedThread, { tool, task }: MadeCall): Promise<number> {
    for (let isLate = false; ;) {
      const put = thread.state.put(task.namespace, task.checkpointId);
      if (put) return put.number;
      const storing = this.#options.puts.of(thread.id);
      if (!storing && isLate) {
        this.#options.seen.assertThere(thread.id, thread.state, { namespace: task.namespace, id: task.checkpointId });
        throw new ToolOutsideThreadError(tool, "checkpoint_not_stored");
      }
      isLate = !storing;
      await (storing ?? nextTurn());
    }
  }

  async #performed(performance: Performance): Promise<CallCompletion> {
    const { thread, made, facts } = performance;
    const { open } = made.place.attempt;
    const subject = outputSubject(made.tool);
    open.add(facts.call);
    let output: unknown;
    try {
      output = await made.perform(facts.call);
    } catch (error) {
      if (isLetThrough(error)) throw error;
      const end = failureOf(error, made);
      if (end) recordEnd(performance, end);
      return { thrown: error };
    } finally {
      open.delete(facts.call);
    }
    const captured = await capturedOutput(this.#options.coder, output, subject);
    const end = callEndOf(thread, captured, subject);
    recordEnd(performance, end);
    return end.lost ? this.#replayed(performance, end) : { output };
  }

  async #replayed({ thread, made, facts }: Performance, end: StoredCallEnd): Promise<CallCompletion> {
    if (end.error !== undefined) return { thrown: new Error(end.error) };
    if (end.unknown) return { thrown: new Error(new ToolOutcomeUnknownError(facts.tool, facts.call).reason) };
    if (end.lost) throw new NotSerializableError(outputSubject(facts.tool), end.lost.path, end.lost.reason);
    return { output: answerTo(await recordedOutput({ coder: this.#options.coder, thread }, end), made.toolCallId) };
  }

  async #settled(performance: Performance): Promise<CallCompletion> {
    const { thread, made, facts } = performance;
    const { probe, effect, signal = new AbortController().signal, parsed } = made;
    const settings = probe && { probe: (_input: unknown, call: HostedProbe) => probe(parsed, call) };
    const { tool } = hostedTool(facts.tool, settings, codeOf(facts.tool));
    const doubt: ToolCallInDoubt = {
      agentId: thread.id,
      toolCallId: facts.call,
      toolName: facts.tool,
      nodeId: facts.node,
      effect,
      input: made.input,
    };
    const { settlement, by } = await askWhatHappened(doubt, {
      tool,
      choice: this.#options.onToolCallInDoubt,
      signal,
    });
    if (settlement === "not-done" || settlement === "retry") return this.#performed(performance);
    const subject = `the settled output of tool "${facts.tool}"`;
    const end = (await endOfSettlement(this.#options.coder, settlement, subject))(thread);
    recordEnd(performance, { ...end, settled: by });
    return this.#replayed(performance, end);
  }
}

function codeOf(name: string): ToolCode {
  return {
    declaration: `durableTools(checkpointer, tools, { ${quoted(name)}: { effect: "idempotent" } })`,
    settling: (threadId, toolCallId) => `checkpointer.settleToolCall(${quoted(threadId)}, ${quoted(toolCallId)}, `,
  };
}

function runningKey(threadId: string, call: string): string {
  return JSON.stringify([threadId, call]);
}

function diverged({ thread, facts, recorded: before }: Performance): ReplayDivergedError {
  const found = before?.tool === facts.tool ? `${quoted(facts.tool)} with another input` : quoted(facts.tool);
  return new ReplayDivergedError(
    thread.id,
    facts.node,
    `a call of ${quoted(before?.tool ?? "")} (${before?.call ?? ""})`,
    `a call of ${found}`,
    before ? [{ toolCallId: before.call, toolName: before.tool, inDoubt: isInDoubt(before) }] : [],
    "Or keep the effects and run the node again: invoke the graph with the checkpoint_id of an earlier checkpoint.",
  );
}

function callRecord({ thread, facts, input }: Performance): CallRecord {
  return { kind: "call", ...facts, input: thread.value(input, `the input of tool "${facts.tool}"`) };
}

/** Does not wait until the record is durable, because all records that depend on it are later in the log. */
function recordEnd(performance: Performance, end: StoredCallEnd): void {
  const { thread, facts } = performance;
  if (facts.effect !== "none") thread.append([{ kind: "call_end", call: facts.call, end }]);
  // A pruning possibly removed the checkpoint during the call.
  else if (thread.state.puts.has(facts.of)) thread.append([{ ...callRecord(performance), end }]);
}

/** Returns the outcome of a failed call. `undefined` if the call possibly took effect. */
function failureOf(error: unknown, { signal }: MadeCall): StoredCallEnd | undefined {
  if (isBubbleUp(error)) return {};
  return signal?.aborted ? undefined : { error: reasonOf(error) };
}

/** Returns whether an error is a signal of LangGraph that interrupts a node or leaves a graph. */
function isBubbleUp(error: unknown): boolean {
  return (Object(error) as { readonly is_bubble_up?: unknown }).is_bubble_up === true;
}

export function journalOf(checkpointer: unknown): CallJournal | undefined {
  return journals.get(Object(checkpointer) as object);
}
