import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Note } from "../../journal/RollbackParticipant.ts";
import { type GitHead, type GitNote, gitNoteOf, type IndexChange, isSameHead } from "./GitState.ts";
import { type FileNote, fileNoteOf } from "../files/FileNote.ts";

export interface GitHistory {
  /** Omitted if no command checked out another branch or commit. */
  readonly head?: HeadHistory;
  /** The checked-out branches that commands moved. */
  readonly moved: ReadonlyMap<string, MovedBranch>;
  /** The entries that commands changed, by path. */
  readonly index: ReadonlyMap<string, EntryHistory>;
  /** The commit of the index at the checkpoint. Omitted without a commit. */
  readonly base?: string;
  /** HEAD after the last command. Omitted without commands. */
  readonly end?: GitHead;
  /** The commit of the index after its last change by a command. Omitted without a commit. */
  readonly endBase?: string;
  /** Some changed entries were not stored. */
  readonly isIndexUnknown: boolean;
  /** The states around each interrupted command. A missing `after` means the current state. */
  readonly interrupted: readonly { readonly before: GitNote; readonly after?: GitNote }[];
}

interface HeadHistory {
  readonly target: GitHead;
  readonly left: GitHead;
  /** Others moved HEAD between two commands. */
  readonly byOthers: boolean;
}

interface EntryHistory {
  /** The entry at the checkpoint. Omitted without an entry. */
  readonly target?: string;
  readonly left?: string;
  readonly byOthers: boolean;
}

interface MovedBranch {
  readonly from?: string;
  readonly to?: string;
}

interface Span {
  readonly from: number;
  readonly before: GitNote;
  readonly after: GitNote;
}

/** @param notes oldest first */
export function gitHistory(notes: readonly Note[]): GitHistory {
  const read = notes.map(({ value }) => fileNoteOf(value));
  const spans = spansOf(read);
  const changed = spans.filter(({ before, after }) => before.indexHash !== after.indexHash);
  return withoutUndefined({
    head: headHistory(spans.filter(({ before, after }) => !isSameHead(before.head, after.head))),
    moved: movedBranches(spans),
    index: entryHistories(changed.flatMap(({ after }) => after.index ?? [])),
    base: changed[0]?.before.head.commit,
    end: spans.at(-1)?.after.head,
    endBase: changed.at(-1)?.after.head.commit,
    isIndexUnknown: changed.some(({ after }) => after.index === undefined),
    interrupted: interruptedIn(read),
  });
}

/**
 * Returns the history for a redo, from the `undone` and the `redone` commands. The expected current state is that of
 * the reverted commands or, without any, of an earlier rollback.
 */
export function withRedoneGit(undone: GitHistory, redone: GitHistory): GitHistory {
  const changesIndex = redone.index.size > 0 || redone.isIndexUnknown;
  return withoutUndefined({
    head: redoneHead(undone, redone),
    moved: new Map([
      ...undone.moved,
      ...[...redone.moved].map(([branch, { from, to }]) => [branch, withoutUndefined({ from: to, to: from })] as const),
    ]),
    index: redoneEntries(undone.index, redone.index),
    base: changesIndex ? redone.endBase : undone.base,
    isIndexUnknown: undone.isIndexUnknown || redone.isIndexUnknown,
    interrupted: [...undone.interrupted, ...redone.interrupted],
  });
}

function redoneHead(undone: GitHistory, redone: GitHistory): HeadHistory | undefined {
  if (!redone.head) return undone.head;
  const byOthers = redone.head.byOthers || undone.head?.byOthers === true;
  const target = redone.end ?? redone.head.left;
  return { target, left: undone.head?.left ?? redone.head.target, byOthers };
}

function redoneEntries(undone: GitHistory["index"], redone: GitHistory["index"]): GitHistory["index"] {
  const entries = new Map(undone);
  for (const [path, { target, left, byOthers }] of redone) {
    const known = undone.get(path);
    const isByOthers = byOthers || known?.byOthers === true;
    entries.set(path, withoutUndefined({ target: left, left: known ? known.left : target, byOthers: isByOthers }));
  }
  return entries;
}

function spansOf(notes: readonly FileNote[]): readonly Span[] {
  const began = new Map<string, { readonly from: number; readonly before: GitNote }>();
  let spans: readonly Span[] = [];
  for (const [at, { began: start, ended = "", git }] of notes.entries()) {
    const note = gitNoteOf(git);
    if (!note) continue;
    if (start !== undefined) began.set(start, { from: at, before: note });
    const known = began.get(ended);
    // A nested capture has found a part of the same changes.
    if (known) spans = [...spans.filter(({ from }) => from < known.from), { ...known, after: note }];
  }
  return spans;
}

function headHistory(spans: readonly Span[]): HeadHistory | undefined {
  const [first] = spans;
  const last = spans.at(-1);
  if (!first || !last) return undefined;
  const byOthers = spans.slice(1).some(({ before }, at) => !isSameHead(before.head, spans[at]?.after.head ?? {}));
  return { target: first.before.head, left: last.after.head, byOthers };
}

function movedBranches(spans: readonly Span[]): ReadonlyMap<string, MovedBranch> {
  const moved = new Map<string, MovedBranch>();
  for (const { before, after } of spans) {
    const { branch } = after.head;
    if (branch === undefined || branch !== before.head.branch || before.head.commit === after.head.commit) continue;
    const { from = before.head.commit } = moved.get(branch) ?? {};
    moved.set(branch, withoutUndefined({ from, to: after.head.commit }));
  }
  return moved;
}

function entryHistories(changes: readonly IndexChange[]): ReadonlyMap<string, EntryHistory> {
  const entries = new Map<string, EntryHistory>();
  for (const { path, before, after } of changes) {
    const known = entries.get(path);
    const target = known ? known.target : before;
    const byOthers = known !== undefined && (known.byOthers || known.left !== before);
    entries.set(path, withoutUndefined({ target, left: after, byOthers }));
  }
  return entries;
}

function interruptedIn(notes: readonly FileNote[]): GitHistory["interrupted"] {
  const ended = new Set(notes.filter(({ interrupted }) => !interrupted).map((note) => note.ended));
  return notes.flatMap(({ began, git }, at) => {
    const before = gitNoteOf(git);
    if (began === undefined || ended.has(began) || !before) return [];
    const next = notes.slice(at + 1).find((note) => note.began !== undefined && note.git !== undefined);
    return [withoutUndefined({ before, after: gitNoteOf(next?.git) })];
  });
}
