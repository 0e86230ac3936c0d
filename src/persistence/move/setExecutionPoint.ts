import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { assertMessage } from "../../agent/model/assertMessage.ts";
import type { RunState, RunStateSeed } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import { encodeValue, envelopeKeyOf, type StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { leavesEffect } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { nodeReferenceSchema } from "../record/CreateCheckpointOptions.ts";
import { RunRecorder } from "../record/RunRecorder.ts";
import { structureReference, structureRecord } from "../record/strategyRecord.ts";
import { z } from "zod";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** What an execution point needs; which nodes there are is the graph's to know. */
export const executionPointSchema: z.ZodType = strictOptions({
  agentContext: z.unknown().optional(),
  nodeId: nodeReferenceSchema,
  input: z.unknown().optional(),
  messageHistory: z.array(z.unknown()).optional(),
});

export interface ExecutionPointOptions {
  /** The whole log, read after everything in flight has ended. */
  readonly log: AgentLog;
  readonly recorder: RunRecorder;
  readonly run: AgentRun;
  /** The path of the node that runs next. */
  readonly node: string;
  readonly input: unknown;
  /** Absent: the history stays. */
  readonly messageHistory?: readonly Message[];
  readonly move: "execution_point" | "rollback";
}

/** Begins a line at another node with the state of this moment; no effect is taken back. Durable when it resolves. */
export async function setExecutionPoint(options: ExecutionPointOptions): Promise<RunRecorder> {
  const { log, recorder, run, node, messageHistory, move } = options;
  const { journal } = recorder;
  const { state } = run;
  if (messageHistory) state.history.rewrite(() => messageHistory);
  const input = journal.writer.input(options.input, `the input of node ${JSON.stringify(node)}`, (message) =>
    state.history.numberOf(message),
  );
  const lane = journal.nextLane++;
  const structure = structureRecord(recorder.setup.graph, lane, journal);
  const unsaved = recordsForLane(recorder.drainUnsaved(run), lane, state.history, journal.writer);
  const standing = standingCalls(log, recorder);
  const version = journal.nextVersion++;
  journal.nextNumber = Math.max(journal.nextNumber, state.history.next);
  const { iteration, progress, progressSummary: summary } = state;
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    lane,
    version,
    at: journal.clock.now(),
    node,
    input,
    iteration,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { summary }),
    move,
    ...(standing.length > 0 && { standing }),
  };
  journal.append([...laneStart(log, recorder, lane, structureReference(structure, journal)), ...unsaved, checkpoint]);
  await journal.durable();
  const runId = recorder.run.run;
  const start = {
    nodeId: node,
    input: options.input,
    state: seedFrom(state),
    line: { agentId: journal.agentId, runId, lane },
    generation: journal.generation,
    visitBase: version,
    visitOrdinal: 0,
    runId,
  };
  return new RunRecorder(recorder.setup, journal, recorder.run, start, {
    structure,
    opening: [],
    restored: recorder.decisions,
    named: recorder.named,
    head: { version, id: `${journal.generation}-${version}` },
  });
}

/** The new line begins from the checkpoint that the old one goes on from; where there is none, as the old one began. */
function laneStart({ index }: AgentLog, recorder: RunRecorder, lane: number, structure: AgentRecord): AgentRecord[] {
  if (recorder.head) return [{ kind: "lane", lane, from: recorder.head.version, keep: "all" }];
  const begun = index.lanes.get(recorder.lane)?.record;
  return [{ kind: "lane", keep: "nothing", ...begun, lane }, structure];
}

/** The calls that had an effect, or may have had one, on a line since its checkpoint. */
function standingCalls({ index, blobs }: AgentLog, { lane, head }: RunRecorder): readonly string[] {
  const after = head ? (index.checkpoints.get(head.version)?.order ?? -1) : -1;
  const since = loggedCalls(index, blobs).filter((call) => call.lane === lane && call.order > after);
  return since.filter((call) => leavesEffect(call) && index.counts(call)).map(({ call }) => call);
}

function seedFrom(state: RunState): RunStateSeed {
  const { progress, progressSummary } = state;
  return {
    messages: state.history.entries,
    nextMessage: state.history.next,
    storage: state.storage.values,
    settings: state.settings,
    iteration: state.iteration,
    ...(progress !== undefined && { progress }),
    ...(progressSummary !== undefined && { progressSummary }),
    decisions: state.decisions,
    requirements: state.requirements,
  };
}

/**
 * Unsaved records of a line as records of the next: messages that refer to answers and outcomes of the line are written by
 * value, since the next line does not have those. One that has left the history since is not needed any more.
 */
export function recordsForLane(
  records: readonly AgentRecord[],
  lane: number,
  history: MessageHistory,
  writer: ValueWriter,
): AgentRecord[] {
  const messages = new Map(history.entries.map(({ number, message }) => [number, message]));
  const byValue = <Entry extends { readonly number: number; readonly message: StoredValue }>(entry: Entry): Entry =>
    refers(entry.message) ? { ...entry, message: valueOf(messages.get(entry.number), writer) } : entry;
  return records.map((record): AgentRecord => {
    if (record.kind === "message") return { ...byValue(record), lane };
    if (record.kind === "edit") return { ...record, insert: record.insert.map(byValue), lane };
    return "lane" in record && record.kind !== "lane" ? { ...record, lane } : record;
  });
}

function refers(slot: StoredValue): boolean {
  const key = envelopeKeyOf(slot);
  return key === "$answer" || key === "$outcomes";
}

function valueOf(message: Message | undefined, writer: ValueWriter): StoredValue {
  return message ? writer.byValue(message, "a message") : null;
}

/** Refuses a history that could not be stored, before anything changes. @throws InvalidInputError, NotSerializableError */
export function assertStorableHistory(messages: readonly Message[] | undefined): void {
  for (const message of messages ?? []) {
    assertMessage(message, "message of the new history");
    encodeValue(message, "a message");
  }
}
