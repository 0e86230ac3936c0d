import type { FileChange, FileState } from "../../checkpoint/data/FileChange.ts";

/** What the tools of a run changed in this process since its last checkpoint may not list yet, by run id. */
const byRun = new Map<string, Map<string, FileState | undefined>>();

/** Begins to remember the changes of a run. */
export function watchUnsaved(runId: string): void {
  if (!byRun.has(runId)) byRun.set(runId, new Map());
}

/** Remembers files as a run leaves them, if somebody asked for it. */
export function noteUnsaved(runId: string, changes: readonly FileChange[]): void {
  for (const { path, after } of changes) byRun.get(runId)?.set(path, after);
}

/** The files as the tools of a run left them in this process, by path; `undefined` for a deleted file. */
export function unsavedOf(runId: string): ReadonlyMap<string, FileState | undefined> {
  return byRun.get(runId) ?? new Map<string, FileState | undefined>();
}

/** Forgets a run that ended. */
export function forgetUnsaved(runId: string): void {
  byRun.delete(runId);
}
