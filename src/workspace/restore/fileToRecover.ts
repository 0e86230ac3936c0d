import { isSameFile, type FileState } from "../../checkpoint/data/FileChange.ts";
import type { RecoveryOption } from "../../persistence/environment/RecoveryOption.ts";
import { textIn } from "../files/contentOf.ts";
import type { FileNote } from "../files/FileNote.ts";
import type { FoundFile } from "../files/readFile.ts";
import { stateOf, type FileHistory } from "./planRestore.ts";

/** A required file as far as it is known. Paths are relative to the root. */
export interface FileToRecover {
  readonly path: string;
  readonly found: FoundFile;
  /** As the run that goes on needs it. Absent: not known. */
  readonly needed?: FileState;
  /** As it was before the agent first changed it. Absent: the agent did not, or there was no file. */
  readonly base?: FileState;
}

/** A content that the log has, by its hash and length. */
export interface KeptContent {
  readonly hash: string;
  readonly bytes: number;
}

const defaultMode = 0o644;

/**
 * Decides what a run that goes on needs: the file as the agent left it after the checkpoint, since calls that are recorded
 * are not made again; else as the checkpoint names it.
 *
 * @param before notes on the way to the checkpoint, oldest first.
 * @param since what became of the file after the checkpoint, if anything did.
 * @param kept the content at the checkpoint, if the log has it.
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

/** Whether a file is as the agent left it after the checkpoint, or as its last change found it: a crash may have come between. */
export function isOwnWork({ found }: FileToRecover, since: FileHistory | undefined): boolean {
  if (!since || found.kind === "other") return false;
  return since.known.slice(-2).some((own) => isSameFile(stateOf(found), own));
}

/** Decides what can be done about a file with the contents that are there. */
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

/** A required file is named by its content alone: its permission is that of the newest note of it, else what it is now. */
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
