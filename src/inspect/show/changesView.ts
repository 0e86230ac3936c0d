import {
  fileNoteKey,
  fileChangesIn,
  isSameFile,
  type FileChange,
  type FileState,
  mergeFileChanges,
} from "../../checkpoint/data/FileChange.ts";
import type { AgentRecord, NoteRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { OrderedRecord } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ShownValue, FileChangeView, NotedFileChange } from "../view/viewParts.ts";
import type { ChangesView } from "../view/StepView.ts";
import { isoTime } from "./checkpointView.ts";
import type { Shown } from "./Source.ts";
import { placesLeft, placesRejoined, placesUpTo } from "../../checkpoint/lines/lineage.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { RollbackGoal } from "../../journal/planRollback.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { firstAfter } from "../log/laneRecords.ts";

type OfKind<Kind extends AgentRecord["kind"]> = Extract<AgentRecord, { kind: Kind }>;

export function changesView({ show }: Shown, records: readonly OrderedRecord[]): ChangesView {
  const of = <Kind extends AgentRecord["kind"]>(kind: Kind): readonly OfKind<Kind>[] =>
    records.flatMap(({ record }) => (record.kind === kind ? [record as OfKind<Kind>] : []));
  const messages = records.flatMap(({ record }) => addedIn(record));
  const settings = of("settings").at(-1);
  return {
    messages: {
      added: messages.map(({ message, ...place }) => ({ ...place, message: show(message) })),
      removed: of("edit").flatMap(({ remove }) => remove),
    },
    storage: storageChanges(of("storage"), show),
    ...(settings && {
      settings: withoutUndefined({
        model: settings.model,
        parameters: "parameters" in settings ? show(settings.parameters) : undefined,
        tools: settings.tools,
      }),
    }),
    decisions: of("decision").map(({ decision, reason, at }) =>
      withoutUndefined({ decision, reason, at: isoTime(at) }),
    ),
  };
}

function addedIn(
  record: AgentRecord,
): readonly { readonly number: number; readonly message: unknown; readonly before?: number }[] {
  if (record.kind === "message") return [{ number: record.number, message: record.message }];
  if (record.kind !== "edit") return [];
  const { before } = record;
  return record.insert.map((inserted) => ({ ...inserted, ...(before !== undefined && { before }) }));
}

function storageChanges(records: readonly OfKind<"storage">[], show: Shown["show"]): ChangesView["storage"] {
  const last = new Map(records.map((record) => [record.key, record]));
  const set = [...last.values()].filter((record) => "value" in record);
  const deleted = [...last.values()].filter((record) => !("value" in record));
  return {
    set: Object.fromEntries(set.map(({ key, value }): [string, ShownValue] => [key, show(value)])),
    deleted: deleted.map(({ key }) => key),
  };
}

export interface PlacedNote {
  readonly record: NoteRecord;
  readonly order: number;
  readonly position: number;
}

export function fileNotesIn(records: readonly OrderedRecord[]): readonly PlacedNote[] {
  return records.flatMap(({ record, order, position }) =>
    record.kind === "note" && record.key === fileNoteKey ? [{ record, order, position }] : [],
  );
}

/** Returns the file changes in notes. Ignores unreadable notes. */
export function fileChangeViews(shown: Shown, notes: readonly PlacedNote[]): readonly NotedFileChange[] {
  const { log } = shown.index;
  const reverted = new Set([...log.revertedNotes].map(({ order }) => order));
  return notes.flatMap(({ record, order, position }) =>
    changesIn(shown, record).map((change) =>
      withoutUndefined({
        ...fileChangeView(change),
        toolCallId: record.call,
        position,
        lane: record.lane,
        isReverted: reverted.has(order),
      }),
    ),
  );
}

export function changesIn(shown: Shown, { value }: NoteRecord): readonly FileChange[] {
  shown.show(value);
  try {
    return fileChangesIn(shown.values.decoded(value)).filter(({ before, after }) => !isSameFile(before, after));
  } catch {
    return [];
  }
}

export function fileChangeView({ path, before, after }: FileChange): FileChangeView {
  const change = before === undefined ? "created" : after === undefined ? "deleted" : "modified";
  return withoutUndefined({ path, change, before, after });
}

/** Returns the notes about files, oldest first. @param isThere - selects notes. Defaults to all. */
function fileNotes(
  { log }: AgentIndex,
  isThere: (lane: number, order: number) => boolean = () => true,
): readonly PlacedNote[] {
  return log.notes.flatMap(({ record, order }) => {
    if (record.key !== fileNoteKey || !isThere(record.lane, order)) return [];
    const records = log.laneRecords.get(record.lane) ?? [];
    return [{ record, order, position: records[firstAfter(records, order) - 1]?.position ?? 0 }];
  });
}

/** Returns the recorded file changes, oldest first. `upTo` omits those that are not before this checkpoint. */
export function notedFiles(shown: Shown, upTo: CheckpointPoint | undefined): readonly NotedFileChange[] {
  const { index } = shown;
  return fileChangeViews(shown, fileNotes(index, upTo && placesUpTo(index.log, upTo)));
}

/** Returns the differences of the agent's files between two checkpoints. */
export function filesBetween(shown: Shown, from: CheckpointPoint, to: CheckpointPoint): readonly FileChangeView[] {
  const { index } = shown;
  const upTo = (point: CheckpointPoint) => changesOf(shown, fileNotes(index, placesUpTo(index.log, point)));
  const before = upTo(from);
  const after = upTo(to);
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return viewsOf(paths.map((path) => changeOf(path, stateIn(path, before, after), stateIn(path, after, before))));
}

/** Returns how a rollback changes files. A redo applies some changes of the agent again. */
export function filesChangedBy(shown: Shown, { target, base }: RollbackGoal): readonly FileChangeView[] {
  const { index } = shown;
  const { log } = index;
  const reverted = new Map([...log.revertedNotes].map((note) => [note.order, note]));
  const isLeft = placesLeft(log, target, base);
  const isRejoined = base ? placesRejoined(log, target, base) : () => false;
  const isRedoable = (order: number) => log.isRedoable(reverted.get(order));
  const undone = changesOf(
    shown,
    fileNotes(index, (lane, order) => isLeft(lane, order) && !reverted.has(order)),
  );
  const redone = changesOf(
    shown,
    fileNotes(index, (lane, order) => isRejoined(lane, order) && isRedoable(order)),
  );
  const paths = [...new Set([...undone.keys(), ...redone.keys()])].toSorted();
  return viewsOf(
    paths.map((path) => {
      const [left, again] = [undone.get(path), redone.get(path)];
      return changeOf(path, left ? left.after : again?.before, again ? again.after : left?.before);
    }),
  );
}

type Changes = ReadonlyMap<string, FileChange>;

function changesOf(shown: Shown, notes: readonly PlacedNote[]): Changes {
  return mergeFileChanges(notes.flatMap(({ record }) => changesIn(shown, record)));
}

/** Returns the state of a file after `changes`. If only `others` changed it, returns its state before them. */
function stateIn(path: string, changes: Changes, others: Changes): FileState | undefined {
  const change = changes.get(path);
  return change ? change.after : others.get(path)?.before;
}

function changeOf(path: string, before: FileState | undefined, after: FileState | undefined): FileChange {
  return { path, ...(before && { before }), ...(after && { after }) };
}

function viewsOf(changes: readonly FileChange[]): readonly FileChangeView[] {
  return changes.filter(({ before, after }) => !isSameFile(before, after)).map(fileChangeView);
}
