import type { FileNote } from "../files/FileNote.ts";

/** What the agent made of a folder since a checkpoint. */
export interface FolderHistory {
  readonly path: string;
  /** The permissions at the checkpoint. Absent: there was no folder. */
  readonly target?: number;
  /** The permissions that the agent left. Absent: no folder, or it created one and they do not matter. */
  readonly last?: number;
  /** Others changed the permissions between two changes of the agent. */
  readonly byOthers?: true;
}

/** One history for each folder. @param notes oldest first. */
export function folderHistories(notes: readonly FileNote[]): readonly FolderHistory[] {
  const histories = new Map<string, FolderHistory>();
  for (const { folders = [], folderModes = [] } of notes) {
    for (const path of folders) histories.set(path, { ...histories.get(path), path });
    for (const { path, before, after } of folderModes) {
      const { target, last = before, byOthers }: Partial<FolderHistory> = histories.get(path) ?? { target: before };
      histories.set(path, {
        path,
        ...(target !== undefined && { target }),
        ...(after !== undefined && { last: after }),
        ...((byOthers === true || last !== before) && { byOthers: true }),
      });
    }
  }
  return [...histories.values()];
}
