import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { isSameFile, type FileState } from "../../checkpoint/data/FileChange.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";

/** Files as the workspace left them, by path; `undefined` for a deleted file. */
export type LeftFiles = ReadonlyMap<string, FileState | undefined>;

/** Whether a file is as the workspace left it, so that its change is the agent's own. */
export async function isLeftByWorkspace(
  path: string,
  left: LeftFiles | undefined,
  files: WorkspaceFiles,
): Promise<boolean> {
  if (!left?.has(path)) return false;
  const found = await files.read(path).catch(() => undefined);
  if (found === undefined || found.kind === "other") return false;
  return isSameFile(found.kind === "missing" ? undefined : found.state, left.get(path));
}

/**
 * The files as the workspace left them on the path to the newest checkpoint. Each checkpoint lists only the changes since
 * its parent. @param checkpoints oldest first.
 */
export function leftFilesOf(checkpoints: readonly AgentCheckpointData[]): LeftFiles {
  const byId = new Map(checkpoints.map((checkpoint) => [checkpoint.checkpointId, checkpoint]));
  const left = new Map<string, FileState | undefined>();
  for (let at = checkpoints.at(-1); at; at = at.parentId === undefined ? undefined : byId.get(at.parentId)) {
    const { created, modified, deleted } = at.fileChanges;
    for (const { path, after } of [...created, ...modified, ...deleted]) if (!left.has(path)) left.set(path, after);
  }
  return left;
}
