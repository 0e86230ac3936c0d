import { type FileState, isSameFile, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Note, ParticipantContext, ParticipantRequest } from "../../journal/RollbackParticipant.ts";
import { type FileNote, fileNoteOf, type FolderChange } from "../files/FileNote.ts";
import { changesBetween } from "../capture/changesBetween.ts";
import { fileWithState, readScan } from "../capture/StoredScan.ts";
import type { Scan } from "../capture/Scan.ts";

export interface FileHistory {
  readonly path: string;
  /** The state at the checkpoint. Omitted for no file. */
  readonly target?: FileState;
  /** The state after the first change. Omitted for no file. */
  readonly first?: FileState;
  /** The agent's changes, oldest first. Consecutive changes without changes of others form one span. */
  readonly spans: readonly FileSpan[];
  /** Set if the last change may not have happened. Contains the state before that change. */
  readonly uncertain?: { readonly before?: FileState };
  /** True if one of the changes was made by an interrupted command or by others, and it is unknown by which. */
  readonly interrupted?: true;
}

/** Consecutive changes of the agent, without changes of others in between. A missing state is a missing file. */
export interface FileSpan {
  readonly before?: FileState;
  readonly after?: FileState;
}

/** Returns the states in which the agent may have left a file. `undefined` means no file. */
export function leftStates({ spans, uncertain }: FileHistory): readonly (FileState | undefined)[] {
  const left = spans.at(-1)?.after;
  return uncertain ? [left, uncertain.before] : [left];
}

/** Returns the history without a file that others created in place of a directory. */
export function withoutFileOfOthers(history: FileHistory): FileHistory {
  const { target: _others, ...rest } = history;
  return { ...rest, spans: [{}, ...history.spans] };
}

/** Returns the SHA-256 of contents that others wrote between changes of the agent, and of files that are not restored. */
export function contentsOfOthers(
  histories: readonly FileHistory[],
  blocked: readonly FileHistory[],
): ReadonlySet<string> {
  const between = histories.flatMap(({ spans }) => spans.slice(1).map(({ before }) => before));
  const made = [...between, ...blocked.map(({ target }) => target)];
  return new Set(made.flatMap((state) => (state?.kind === "file" ? [state.hash] : [])));
}

/**
 * Returns one history for each path, in the order of first changes, from notes, oldest first.
 *
 * @throws UnreadableValueError, PathNotAllowedError
 */
export function fileHistories(notes: readonly Note[]): readonly FileHistory[] {
  const histories = new Map<string, FileHistory>();
  for (const change of notedChanges(notes)) histories.set(change.path, withChange(histories.get(change.path), change));
  return [...histories.values()];
}

function withChange(history: FileHistory | undefined, change: NotedChange): FileHistory {
  const { path, before, after, during } = change;
  const uncertain = change.uncertain ? withoutUndefined({ before }) : undefined;
  const interrupted = change.interrupted || history?.interrupted || undefined;
  const span = withoutUndefined({ before, after });
  if (!history) return withoutUndefined({ path, target: before, first: after, spans: [span], uncertain, interrupted });
  const continues = during || leftStates(history).some((left) => isSameFile(left, before));
  const spans = continues
    ? [...history.spans.slice(0, -1), withoutUndefined({ before: history.spans.at(-1)?.before, after })]
    : [...history.spans, span];
  return withoutUndefined({ path, target: history.target, first: history.first, spans, uncertain, interrupted });
}

/**
 * Returns the histories for a redo, from the histories of the `undone` and the `redone` changes. The expected state is
 * that of the reverted changes or, without any, of an earlier rollback.
 */
export function withRedoneFiles(
  undone: readonly FileHistory[],
  redone: readonly FileHistory[],
): readonly FileHistory[] {
  const again = new Map(redone.map((history) => [history.path, inverted(history)]));
  const known = new Set(undone.map(({ path }) => path));
  const both = undone.map((history) => {
    const before = again.get(history.path);
    return before ? joined(before, history) : history;
  });
  return [...both, ...[...again.values()].filter(({ path }) => !known.has(path))];
}

function inverted({ path, spans, uncertain, interrupted }: FileHistory): FileHistory {
  // The change of a failed call is not redone.
  const target = uncertain ? uncertain.before : spans.at(-1)?.after;
  const back = spans.toReversed().map(({ before, after }) => spanOf(after, before));
  const turned = [spanOf(target, back[0]?.after), ...back.slice(1)];
  return withoutUndefined({ path, target, first: turned[0]?.after, spans: turned, interrupted });
}

function joined(before: FileHistory, history: FileHistory): FileHistory {
  const { path, target, first } = before;
  const { uncertain } = history;
  const [last, next] = [before.spans.at(-1), history.spans[0]];
  const spans = isSameFile(last?.after, next?.before)
    ? [...before.spans.slice(0, -1), spanOf(last?.before, next?.after), ...history.spans.slice(1)]
    : [...before.spans, ...history.spans];
  const interrupted = before.interrupted ?? history.interrupted;
  return withoutUndefined({ path, target, first, spans, uncertain, interrupted });
}

function spanOf(before: FileState | undefined, after: FileState | undefined): FileSpan {
  return withoutUndefined({ before, after });
}

interface NotedChange extends FileChange {
  /** The change may not have happened. */
  readonly uncertain: boolean;
  /** Whether another change was noted while the command ran that made this change. */
  readonly during: boolean;
  /** An interrupted command or others made the change. */
  readonly interrupted: boolean;
}

/**
 * Returns the changes in notes, oldest first. Tools note changes before they make them, so after a crash or failure it
 * is unknown whether they happened. Captures note detected changes.
 *
 * @throws UnreadableValueError, PathNotAllowedError
 */
function notedChanges(notes: readonly Note[]): readonly NotedChange[] {
  const read = notes.map((note) => ({ ...note, files: fileNoteOf(note.value) }));
  const intents = new Map(
    read.flatMap(({ toolCallId, files }, at) =>
      toolCallId !== undefined && !isFound(files) ? [[toolCallId, at]] : [],
    ),
  );
  const began = new Map<string, number>();
  const changedAt = new Map<string, number>();
  return read.flatMap(({ files, toolCallId, uncertain = false }, at) => {
    if (files.began !== undefined) began.set(files.began, at);
    const isRepeated = toolCallId !== undefined && intents.get(toolCallId) !== at;
    const isOpen = !isFound(files) && (uncertain || isRepeated);
    const from = began.get(files.ended ?? "") ?? at;
    return files.changes.map((change) => {
      const during = (changedAt.get(change.path) ?? -1) > from;
      changedAt.set(change.path, at);
      return { ...change, uncertain: isOpen, during, interrupted: files.interrupted === true };
    });
  });
}

/** Returns whether a note contains changes that a capture detected. */
function isFound({ ended }: FileNote): boolean {
  return ended !== undefined;
}

export interface FolderHistory {
  readonly path: string;
  /** The permissions at the checkpoint. Omitted if the directory did not exist. */
  readonly target?: number;
  /** The permissions that the agent left. Omitted if the agent left no directory. */
  readonly last?: number;
  /** Others changed the permissions between two changes of the agent. */
  readonly byOthers?: true;
}

/** Returns a history for each directory, from notes, oldest first. Tools made directories with `madeMode`. */
export function folderHistories(notes: readonly FileNote[], madeMode: number): readonly FolderHistory[] {
  const histories = new Map<string, FolderHistory>();
  for (const { folders = [], folderModes = [] } of notes) {
    const created = new Map(folderModes.map(({ path, before }) => [path, before]));
    for (const path of folders)
      histories.set(path, { ...histories.get(path), path, last: created.get(path) ?? madeMode });
    for (const change of folderModes) histories.set(change.path, withMode(histories.get(change.path), change));
  }
  return [...histories.values()];
}

function withMode(history: FolderHistory | undefined, { path, before, after }: FolderChange): FolderHistory {
  const { target, last = before, byOthers }: Partial<FolderHistory> = history ?? { target: before };
  return {
    path,
    ...(target !== undefined && { target }),
    ...(after !== undefined && { last: after }),
    ...((byOthers === true || last !== before) && { byOthers: true }),
  };
}

export function withRedoneFolders(
  undone: readonly FolderHistory[],
  redone: readonly FolderHistory[],
): readonly FolderHistory[] {
  const again = new Map(redone.map((history) => [history.path, history]));
  const known = new Map(undone.map((history) => [history.path, history]));
  const paths = new Set([...known.keys(), ...again.keys()]);
  return [...paths].flatMap((path) => {
    const [left, made] = [known.get(path), again.get(path)];
    if (!made) return left ?? [];
    const byOthers = left?.byOthers ?? made.byOthers;
    return withoutUndefined({ path, target: made.last, last: left ? left.last : made.target, byOthers });
  });
}

/** A file in its state at a checkpoint. */
export type FileAtCheckpoint =
  | { readonly kind: "missing" }
  | { readonly kind: "link"; readonly target: string }
  | {
      readonly kind: "file";
      readonly content: Uint8Array;
      /** Permission bits, such as 0o644. */
      readonly mode: number;
    };

/** @returns `undefined` if the agent did not change the file or its content was pruned */
export async function fileAt(
  host: ParticipantContext,
  { agentId, checkpointId, key, path }: Readonly<Record<"agentId" | "checkpointId" | "key" | "path", string>>,
): Promise<FileAtCheckpoint | undefined> {
  const { notes, redone = [], content } = await host.request(agentId, checkpointId, key);
  const changed = withRedoneFiles(fileHistories(notes.toReversed()), fileHistories(redone));
  const since = changed.find((history) => history.path === path);
  if (since) return contentOf(since.target, content);
  const before = notedChanges(await host.notesBefore(agentId, checkpointId, key));
  const last = before.findLast((change) => change.path === path);
  return last && contentOf(last.after, content);
}

async function contentOf(
  state: FileState | undefined,
  read: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<FileAtCheckpoint | undefined> {
  if (state === undefined) return { kind: "missing" };
  if (state.kind === "link") return state;
  const content = await read(state.hash);
  return content && { kind: "file", content, mode: state.mode };
}

interface ReadNote extends Note {
  readonly files: FileNote;
}

/**
 * Returns the notes of a request, oldest first. After the start of each interrupted command, adds a note of the changes
 * up to the next capture, or up to now as `scan` finds them. Others may have made these changes.
 *
 * @throws UnreadableValueError, PathNotAllowedError, FileAccessError
 */
export async function withInterruptedCommands(
  { notes: newestFirst, content }: Pick<ParticipantRequest, "notes" | "content">,
  scan: (before: Scan) => Promise<Scan>,
): Promise<readonly Note[]> {
  const notes = newestFirst.toReversed().map((note): ReadNote => ({ ...note, files: fileNoteOf(note.value) }));
  const ended = new Set(notes.map(({ files }) => files.ended));
  const complete: Note[] = [];
  for (const [at, note] of notes.entries()) {
    complete.push(note);
    const { began, scan: hashes } = note.files;
    if (began === undefined || hashes === undefined || ended.has(began)) continue;
    const before = await readScan(hashes, content);
    if (!before) continue;
    const after = await scanBefore(notes.slice(at + 1), before, { content, scan });
    const changes: FileNote = { ...changesBetween(before, after), ended: began, interrupted: true };
    complete.push({ value: changes });
  }
  return complete;
}

/** Returns the directory before the changes of the notes, computed from the scan of the next capture. */
async function scanBefore(
  later: readonly ReadNote[],
  before: Scan,
  { content, scan }: Pick<ParticipantRequest, "content"> & { readonly scan: (before: Scan) => Promise<Scan> },
): Promise<Scan> {
  const next = later.findIndex(({ files }) => files.scan !== undefined);
  const stored = next < 0 ? undefined : await readScan(later[next]?.files.scan ?? [], content);
  const found = stored ?? (await scan(before));
  const since = stored ? later.slice(0, next) : later;
  const files = new Map(found.files);
  for (const { path, before: state } of since.flatMap((note) => note.files.changes).toReversed())
    if (state) files.set(path, fileWithState(state));
    else files.delete(path);
  return { ...found, files };
}
