import type { FileNote, FolderChange } from "../files/FileNote.ts";

/** What the agent made of a folder since a checkpoint. */
export interface FolderHistory {
  readonly path: string;
  /** The permissions at the checkpoint. Absent: there was no folder. */
  readonly target?: number;
  /** The permissions that the agent left. Absent: no folder. */
  readonly last?: number;
  /** Others changed the permissions between two changes of the agent. */
  readonly byOthers?: true;
}

/**
 * One history for each folder.
 *
 * @param notes oldest first.
 * @param madeMode the permissions of a folder that a file tool made.
 */
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
