import type { RunState } from "../../agent/state/RunState.ts";
import { type StatusState, statusInSnapshot } from "../../checkpoint/state/StatusState.ts";
import type { StructureRecord, CheckpointRecord } from "../../checkpoint/records/lineRecords.ts";
import type { SnapshotRecord } from "../../checkpoint/records/SnapshotRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { SnapshotPlace } from "../../storage/SnapshotDue.ts";
import type { CheckpointHead } from "./checkpointRecord.ts";
import type { StateWriter } from "./StateWriter.ts";

export function snapshotIfDue(
  journal: Journal,
  place: SnapshotPlace,
  take: () => SnapshotRecord,
): SnapshotRecord | undefined {
  const { snapshotDue, unreadBytes, writer } = journal;
  if (!snapshotDue.isDue(place, unreadBytes)) return undefined;
  const snapshot = take();
  if (!snapshotDue.tried(place, unreadBytes, estimateBytes(snapshot))) return undefined;
  writer.forget();
  return snapshot;
}

/** Returns a snapshot of the state at a checkpoint. Make few snapshots, because each is as large as the state. */
export function snapshotOf(
  record: CheckpointRecord,
  source: {
    readonly journal: Journal;
    readonly state: RunState;
    readonly writer: StateWriter;
    readonly run: RunRecord;
    readonly structure: StructureRecord;
    readonly checkpointId: string;
    readonly parent: CheckpointHead | undefined;
    readonly first: boolean;
    readonly status: StatusState;
    readonly input: unknown;
  },
): SnapshotRecord {
  const { journal, state, writer, parent, status } = source;
  const values = journal.writer;
  const life = statusInSnapshot(status);
  const stays = record.status !== undefined || envelopeKeyOf(record.input) === "$message";
  return {
    kind: "snapshot",
    checkpoint: stays ? record : { ...record, input: values.inputByValue(source.input, "the input") },
    checkpointId: source.checkpointId,
    ...(parent && { parent: parent.version, parentId: parent.id }),
    ...(source.first && { first: true }),
    run: source.run,
    createdAt: status.createdAt ?? source.run.at,
    ...(life && { life }),
    nextNumber: journal.numbers.next,
    nextLane: journal.nextLane,
    history: state.history.entries.map(({ number, message }) => ({
      number,
      message: values.byValue(message, `message ${number}`),
    })),
    storage: Object.fromEntries(
      [...state.storage.values].map(([key, value]) => [key, values.value(value, `storage key ${JSON.stringify(key)}`)]),
    ),
    settings: writer.settingsRecord(state.settings),
    requirements: writer.requirementsRecord(state.requirements),
    structure: source.structure,
    structures: [...journal.structures],
    decisions: writer.decisions,
    runs: Object.fromEntries(journal.runs.entries()),
    cancelled: [...journal.cancelled],
    named: Object.fromEntries(journal.named.entries()),
    ...(journal.names.size > 0 && { names: Object.fromEntries(journal.names.entries()) }),
    ...(journal.pruned && { pruned: journal.pruned }),
  };
}
