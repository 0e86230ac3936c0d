import {
  type FileChange,
  fileNoteKey,
  type FileState,
  isSameFile,
  mergeFileChanges,
} from "../../checkpoint/data/FileChange.ts";
import { placesLeft, placesRejoined, placesUpTo } from "../../checkpoint/lines/lineage.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { RollbackGoal } from "../../journal/planRollback.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { firstAfter } from "../place/laneRecords.ts";
import type { FileChangeView, NotedFileChange } from "../view/FileChangeView.ts";
import { changesIn, fileChangeView, notedChanges, type PlacedNote } from "./changesView.ts";
import type { Shown } from "./Source.ts";

/** Returns the notes about files in a log, oldest first. @param isThere - selects notes. Defaults to all. */
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

/**
 * Returns the file changes that an agent recorded, oldest first. With a checkpoint, selects those on the path to it.
 */
export function notedFiles(shown: Shown, upTo: CheckpointPoint | undefined): readonly NotedFileChange[] {
  const { index } = shown;
  return notedChanges(shown, fileNotes(index, upTo && placesUpTo(index.log, upTo)));
}

/** Returns how the files differ between two checkpoints, based on the changes of the agent. */
export function filesBetween(shown: Shown, from: CheckpointPoint, to: CheckpointPoint): readonly FileChangeView[] {
  const { index } = shown;
  const upTo = (point: CheckpointPoint) => changesOf(shown, fileNotes(index, placesUpTo(index.log, point)));
  const before = upTo(from);
  const after = upTo(to);
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return viewsOf(paths.map((path) => changeOf(path, stateIn(path, before, after), stateIn(path, after, before))));
}

/** Returns how a rollback changes files. A redo also applies changes of the agent again. */
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

/** Returns the state of a file after `changes`. If they do not include the file, returns its state before `others`. */
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
