import { isSameFile, type FileChanges, type FileState } from "../../checkpoint/FileChange.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";

/** Files as the workspace left them, by path; `undefined` for one that it deleted. */
export type LeftFiles = ReadonlyMap<string, FileState | undefined>;

/** Whether a file is as the workspace left it: then its change is the agent's own. */
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

/** The files as a checkpoint says that the workspace left them. */
export function leftFilesOf({ created, modified, deleted }: FileChanges): LeftFiles {
  return new Map([...created, ...modified, ...deleted].map(({ path, after }) => [path, after]));
}
