import type { StoredMessage } from "../../checkpoint/messages/LinkedHistory.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { type AgentRecord, isOfState } from "../../checkpoint/records/AgentRecord.ts";
import { checkpointAt } from "../../checkpoint/moment/beginLine.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import { placesBelow } from "../../checkpoint/lines/lineage.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { leavesEffect } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { ExecutionPoint } from "./executionPoint.ts";
import { RunRecorder } from "../saving/RunRecorder.ts";
import { placeOf } from "../starting/startRecorder.ts";
import { structureReference, structureRecord } from "../saving/strategyRecord.ts";

export interface ExecutionPointOptions extends ExecutionPoint {
  readonly log: AgentLog;
  readonly recorder: RunRecorder;
  readonly run: AgentRun;
  readonly move: "execution_point" | "rollback";
}

export async function setExecutionPoint(options: ExecutionPointOptions): Promise<RunRecorder> {
  const { log, recorder, run, node, messageHistory, move } = options;
  const { journal, setup } = recorder;
  const { state } = run;
  if (messageHistory) state.history.rewrite(() => messageHistory);
  const lane = journal.nextLane++;
  const input = journal.writer.input(options.input, `the input of node ${JSON.stringify(node)}`, lane, (message) =>
    state.history.numberOf(message),
  );
  const structure = structureRecord(setup, lane, journal);
  const fresh = [...storedState(log, recorder), ...recorder.drainUnsaved(run)];
  const unsaved = recordsForLane(fresh, lane, state.history, journal.writer);
  const standing = standingCalls(log, recorder);
  const { iteration, progress, progressSummary: summary } = state;
  const left = standing.length > 0 ? standing : undefined;
  const checkpoint = checkpointAt(journal, lane, { node, input, iteration, progress, summary, move, standing: left });
  await journal.store([
    ...laneStart(log, recorder, lane, structureReference(structure, journal)),
    ...unsaved,
    checkpoint,
  ]);
  recorder.line.lanes.push(lane);
  const { version } = checkpoint;
  const place = placeOf(journal, recorder.run, lane, [version, 0]);
  const start = { nodeId: node, input: options.input, state: state.seed, ...place };
  return new RunRecorder(setup, journal, recorder.run, start, {
    structure,
    opening: [],
    restored: recorder.decisions,
    named: recorder.named,
    line: recorder.line,
    parent: recorder.parent,
    head: { version, id: `${journal.generation}-${version}` },
  });
}

/** Starts the new lane at the last checkpoint of the old lane, or where the old lane started. */
function laneStart({ index }: AgentLog, recorder: RunRecorder, lane: number, structure: AgentRecord): AgentRecord[] {
  const { head, line } = recorder;
  const place = line.place && { place: line.place };
  if (head) return [{ kind: "lane", lane, from: head.version, keep: "all", ...place }];
  const begun = index.lanes.get(recorder.lane)?.record;
  return [{ kind: "lane", keep: "nothing", ...begun, lane }, structure];
}

/** Returns the stored state of a lane without a checkpoint, for the next lane. */
function storedState({ index }: AgentLog, { head, lane }: RunRecorder): readonly AgentRecord[] {
  const records = head ? [] : (index.laneRecords.get(lane) ?? []);
  return records.map(({ record }) => record).filter(isOfState);
}

function standingCalls({ index, blobs }: AgentLog, { lane, head }: RunRecorder): readonly string[] {
  const point = head && index.checkpoints.get(head.version);
  const isBelow = point ? placesBelow(index, point) : (at: number) => at === lane;
  const since = loggedCalls(index, blobs).filter((call) => isBelow(call.lane, call.order));
  return since.filter((call) => leavesEffect(call) && index.counts(call)).map(({ call }) => call);
}

/** Copies unsaved records to the next lane. References to the old lane become values. Deleted messages are omitted. */
function recordsForLane(
  records: readonly AgentRecord[],
  lane: number,
  history: MessageHistory,
  writer: ValueWriter,
): AgentRecord[] {
  const messages = new Map(history.entries.map(({ number, message }) => [number, message]));
  const byValue = <Entry extends StoredMessage>(entry: Entry): Entry => {
    if (!["$answer", "$outcomes"].includes(envelopeKeyOf(entry.message) ?? "")) return entry;
    const message = messages.get(entry.number);
    return { ...entry, message: message ? writer.byValue(message, "a message") : null };
  };
  return records.map((record): AgentRecord => {
    if (record.kind === "message") return { ...byValue(record), lane };
    if (record.kind === "edit") return { ...record, insert: record.insert.map(byValue), lane };
    return "lane" in record && record.kind !== "lane" ? { ...record, lane } : record;
  });
}
