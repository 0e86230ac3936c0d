import type { FileChange, FileState } from "../../checkpoint/data/FileChange.ts";

/** The tool changes of runs in this process that the last checkpoint may not contain, by run id. */
const byRun = new Map<string, Map<string, FileState | undefined>>();

export function watchUnsaved(runId: string): void {
  if (!byRun.has(runId)) byRun.set(runId, new Map());
}

export function noteUnsaved(runId: string, changes: readonly FileChange[]): void {
  for (const { path, after } of changes) byRun.get(runId)?.set(path, after);
}

/** Returns the files in the state that the tools of a run left, by path. `undefined` for a deleted file. */
export function unsavedOf(runId: string): ReadonlyMap<string, FileState | undefined> {
  return byRun.get(runId) ?? new Map<string, FileState | undefined>();
}

export function forgetUnsaved(runId: string): void {
  byRun.delete(runId);
}
