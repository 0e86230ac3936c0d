import { isSameFile, type FileState } from "../../checkpoint/data/FileChange.ts";
import type { RecoveryOption } from "../../persistence/environment/RecoveryParticipant.ts";
import { textIn } from "../files/contentOf.ts";
import type { FileNote } from "../files/FileNote.ts";
import type { FoundFile } from "../files/readFile.ts";
import { stateOf, type FileHistory } from "./planRestore.ts";

/** A required file and what is known about it. Paths are relative to the root. */
export interface FileToRecover {
  readonly path: string;
  readonly found: FoundFile;
  /** The state that the resumed run needs. Absent: not known. */
  readonly needed?: FileState;
  /** The state before the agent's first change. Absent: the agent did not change it, or there was no file. */
  readonly base?: FileState;
}

/** A content in the log, by its hash and length. */
export interface KeptContent {
  readonly hash: string;
  readonly bytes: number;
}

const defaultMode = 0o644;

/**
 * Decides which state a resumed run needs: the file as the agent left it after the checkpoint, since recorded calls are not
 * repeated; if the agent did not change it since, the file at the checkpoint.
 *
 * @param before notes up to the checkpoint, oldest first.
 * @param since the changes of the file after the checkpoint, if any.
 * @param kept the content at the checkpoint, if it is in the log.
 */
export function fileToRecover(
  path: string,
  found: FoundFile,
  {
    before,
    since,
    kept,
  }: {
    readonly before: readonly FileNote[];
    readonly since: FileHistory | undefined;
    readonly kept: KeptContent | undefined;
  },
): FileToRecover {
  const changes = before.flatMap((note) => note.changes).filter((change) => change.path === path);
  const base = changes.length > 0 ? changes[0]?.before : since?.target;
  const left = changes.map(({ after }) => after);
  const needed = since ? since.last : stateAt(left, found, kept);
  return { path, found, ...(needed && { needed }), ...(base && { base }) };
}

/** Whether a file is as the agent left it after the checkpoint, or as it was before its last change, which a crash may have interrupted. */
export function isOwnWork({ found }: FileToRecover, since: FileHistory | undefined): boolean {
  if (!since || found.kind === "other") return false;
  return since.known.slice(-2).some((own) => isSameFile(stateOf(found), own));
}

/** The options for a file, by the contents that are in the log. */
export async function optionsForFile(
  { found, needed, base }: FileToRecover,
  content: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<readonly RecoveryOption[]> {
  const contentOf = async (state: FileState | undefined) => (state?.kind === "file" ? content(state.hash) : undefined);
  const wanted = await contentOf(needed);
  if (!wanted) return [];
  if (found.kind === "missing") return ["restore"];
  if (found.kind !== "file") return [];
  const sides = [wanted, found.content, await contentOf(base)];
  const canMerge = sides.every((side) => side && textIn(side) !== undefined);
  return canMerge ? ["use_checkpoint", "merge"] : ["use_checkpoint"];
}

/** A required file is named by its content only: its mode comes from its newest note, else from the current file. */
function stateAt(
  left: readonly (FileState | undefined)[],
  found: FoundFile,
  kept: KeptContent | undefined,
): FileState | undefined {
  if (!kept) return undefined;
  const noted = left.findLast((state) => state?.kind === "file" && state.hash === kept.hash);
  const mode = found.kind === "file" && found.state.kind === "file" ? found.state.mode : defaultMode;
  return noted ?? { kind: "file", ...kept, mode };
}
