import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { fileChangesIn, fileNoteKey, isSameFile, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { FileNote } from "../files/FileNote.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";

/** The changes that a tool is about to make: writes before removals. */
export interface DecidedChanges {
  readonly changes: readonly FileChange[];
  /** The contents before and after, by hash. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

/**
 * Changes files in a tool call. The states before and after are durable before the first file changes, so that a rollback
 * can revert them after any crash. A repeated call completes the recorded changes.
 *
 * @returns the changes; the same ones when the call is repeated.
 */
export async function changeFiles(
  files: WorkspaceFiles,
  { context, abortSignal }: { readonly context: AgentContext; readonly abortSignal: AbortSignal },
  decide: () => Promise<DecidedChanges>,
): Promise<readonly FileChange[]> {
  const durable = persistence(context);
  const noted = durable.recordedNotes(fileNoteKey).flatMap(fileChangesIn);
  if (noted.length > 0 && (await finishNoted(files, noted))) return noted;
  const { changes, contents } = await decide();
  const changed = changes.filter(({ before, after }) => !isSameFile(before, after));
  if (changed.length === 0) return changes;
  const folders = await foldersFor(files, changed);
  const value: FileNote = { changes: changed, ...(folders.length > 0 && { folders }) };
  durable.note({ key: fileNoteKey, value, contents });
  await durable.durable();
  abortSignal.throwIfAborted();
  for (const { path, after } of changed)
    await files.put(path, after, after?.kind === "file" ? contents.get(after.hash) : undefined);
  return changes;
}

/** Completes recorded changes by the removals that are left; false when a write is missing, or a file has another state. */
async function finishNoted(files: WorkspaceFiles, noted: readonly FileChange[]): Promise<boolean> {
  for (const { path } of noted) await files.removeUnfinished(path);
  const left: FileChange[] = [];
  for (const change of noted) {
    const found = await files.read(change.path);
    const state = "state" in found ? found.state : undefined;
    if (found.kind !== "other" && isSameFile(state, change.after)) continue;
    if (change.after || found.kind === "other" || !isSameFile(state, change.before)) return false;
    left.push(change);
  }
  for (const { path } of left) await files.put(path, undefined);
  return true;
}

async function foldersFor(files: WorkspaceFiles, changes: readonly FileChange[]): Promise<readonly string[]> {
  const folders = new Set<string>();
  for (const { path, after } of changes)
    if (after) for (const folder of await files.missingFolders(path)) folders.add(folder);
  return [...folders];
}
