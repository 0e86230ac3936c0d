import type { RunState } from "../../agent/state/RunState.ts";
import { statusInSnapshot } from "../../checkpoint/state/StatusState.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { StructureRecord } from "../../checkpoint/records/lineRecords.ts";
import type { SnapshotRecord } from "../../checkpoint/records/SnapshotRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { CheckpointHead } from "./checkpointRecord.ts";
import type { StateWriter } from "./StateWriter.ts";

/** A snapshot is due when this much was appended since the last one, and this many times its own size. In bytes. */
const snapshotBytes = 1024 * 1024;
const snapshotProportion = 16;

/**
 * The snapshot that goes with a checkpoint; `undefined` while none is due. Its size is known once it is made; one that is
 * too large postpones the next try in proportion, so that the cost per appended byte stays constant.
 */
export function snapshotIfDue(journal: Journal, take: () => SnapshotRecord): SnapshotRecord | undefined {
  if (journal.appendedBytes < journal.snapshotDueBytes) return undefined;
  const snapshot = take();
  const due = Math.max(snapshotBytes, snapshotProportion * estimateBytes(snapshot));
  journal.snapshotDueBytes = due > journal.appendedBytes ? due : snapshotBytes;
  if (due > journal.appendedBytes) return undefined;
  journal.writer.forget();
  return snapshot;
}

/** The state at a checkpoint by value. Its cost grows with the state, so it is made rarely. */
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
    /** The value of the checkpoint's input. */
    readonly input: unknown;
  },
): SnapshotRecord {
  const { journal, state, writer, parent } = source;
  const values = journal.writer;
  const life = statusInSnapshot(journal.statusState);
  const byNumber = envelopeKeyOf(record.input) === "$message";
  return {
    kind: "snapshot",
    checkpoint: byNumber ? record : { ...record, input: values.inputByValue(source.input, "the input") },
    checkpointId: source.checkpointId,
    ...(parent && { parent: parent.version, parentId: parent.id }),
    run: source.run,
    createdAt: journal.statusState.createdAt ?? source.run.at,
    ...(life && { life }),
    nextNumber: state.history.next,
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
    runs: Object.fromEntries(journal.runs),
    cancelled: [...journal.cancelled],
    named: Object.fromEntries(journal.named),
    ...(journal.pruned && { pruned: journal.pruned }),
  };
}
