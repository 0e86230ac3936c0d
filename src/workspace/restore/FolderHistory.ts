import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { FileNote, FolderChange } from "../files/FileNote.ts";

export interface FolderHistory {
  readonly path: string;
  /** The permissions at the checkpoint. Omitted if the directory did not exist. */
  readonly target?: number;
  /** The permissions that the agent left. Omitted if it left no directory. */
  readonly last?: number;
  /** Others changed the permissions between two changes of the agent. */
  readonly byOthers?: true;
}

/**
 * Returns one history for each directory.
 *
 * @param notes oldest first
 * @param madeMode the permissions of directories that file tools create
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
