import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { fileNoteKey, type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { RecoveryRefusedError } from "../../errors/checkpointErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { PathNotAllowedError } from "../../errors/workspaceErrors.ts";
import type { ParticipantContext, ParticipantRequest, StepRequest } from "../../journal/RollbackParticipant.ts";
import type { EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import type { RecoveryOption, RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import { type FileNote, fileNoteOf } from "../files/FileNote.ts";
import { type FoundFile, textIn } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import type { FileRestore } from "./FileRestore.ts";
import { isAsLeft } from "./compareFiles.ts";
import type { FileResolution } from "./FileConflict.ts";
import { fileHistories, type FileHistory } from "./FileHistory.ts";
import { settleConflict } from "./settleConflict.ts";
import { isAbsolute, relative, resolve, sep } from "node:path";

interface LookedAt {
  readonly file: FileToRecover;
  readonly request: ParticipantRequest;
}

export class FileRecovery implements RecoveryParticipant {
  /** @param host throws TypeError if the workspace is not a participant of an agent */
  constructor(
    readonly restore: FileRestore,
    readonly host: () => ParticipantContext,
  ) {}

  async findMismatches(): Promise<readonly EnvironmentMismatch[]> {
    const { files } = this.restore;
    return (await files.hasRoot()) ? [] : [{ kind: "working_directory_missing", path: files.root }];
  }

  async isOwnWork(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<boolean> {
    const looked = await this.#look(mismatch, checkpoint);
    if (!looked) return false;
    const { request, file } = looked;
    const left = fileHistories(request.notes.toReversed()).find(({ path }) => path === file.path);
    return left !== undefined && isAsLeft(left, file.found);
  }

  async optionsFor(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<readonly RecoveryOption[]> {
    const looked = await this.#look(mismatch, checkpoint);
    const hasRoot = await this.restore.files.hasRoot();
    return looked && hasRoot ? optionsForFile(looked.file, looked.request.content) : [];
  }

  /** @throws RecoveryRefusedError if the merge fails, or others deleted or created the file meanwhile */
  async prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
  ): Promise<() => Promise<void>> {
    const { agentId } = checkpoint;
    const looked = await this.#look(mismatch, checkpoint);
    if (!looked?.file.needed) throw new RecoveryRefusedError(agentId, "its log does not have the content of the file");
    const { request, file } = looked;
    const { path, found, needed, base } = file;
    const kind = found.kind === "missing" ? "file_deleted" : "file_modified_externally";
    const history = withoutUndefined({
      path,
      target: needed,
      spans: [withoutUndefined({ before: needed, after: base })],
    });
    const plan = { kind: "conflict", conflict: { kind, path }, history, found } as const;
    const settled = await settleConflict(plan, option as FileResolution, { request, resolver: this.restore.resolver });
    if ("refused" in settled)
      throw new RecoveryRefusedError(agentId, `${path} cannot be settled by "${option}": ${settled.refused}`);
    const { part, content: merged } = settled;
    const mergedHash = part.kind === "file" && part.after?.kind === "file" ? part.after.hash : undefined;
    const content = async (hash: string) => (merged && hash === mergedHash ? merged : request.content(hash));
    const step: StepRequest = { ...request, content, onFailure: "stop", keep: () => Promise.resolve() };
    return async () => {
      await this.restore.apply(part, step);
    };
  }

  async #look(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<LookedAt | undefined> {
    if (mismatch.kind !== "file_modified_externally" && mismatch.kind !== "file_deleted") return undefined;
    const path = this.#pathOf(mismatch.path, checkpoint);
    if (path === undefined) return undefined;
    const { agentId, checkpointId, recoveryInfo } = checkpoint;
    const host = this.host();
    const request = await host.request(agentId, checkpointId, fileNoteKey);
    // A run that continues on an abandoned branch reverts no changes.
    if (request.redone) return undefined;
    const since = fileHistories(request.notes.toReversed()).find((history) => history.path === path);
    const before = (await host.notesBefore(agentId, checkpointId, fileNoteKey)).map(({ value }) => fileNoteOf(value));
    const hash = new Map(Object.entries(recoveryInfo.fileHashes ?? {})).get(mismatch.path) ?? undefined;
    const content = hash === undefined ? undefined : await request.content(hash);
    const required = hash === undefined ? undefined : { hash, bytes: content?.length };
    const file = fileToRecover(path, await this.#found(path), { before, since, required });
    return { file, request };
  }

  /** Without the root, every file is missing. */
  async #found(path: string): Promise<FoundFile> {
    const { files } = this.restore;
    return (await files.hasRoot()) ? files.read(path) : { kind: "missing" };
  }

  /** Converts a path from the run's working directory to the root. `undefined` outside the root. */
  #pathOf(required: string, { recoveryInfo: { workingDirectory } }: AgentCheckpointData): string | undefined {
    if (workingDirectory === undefined && !isAbsolute(required)) return undefined;
    const { root } = this.restore.files;
    const path = relative(root, resolve(workingDirectory ?? root, required));
    try {
      return relativePath(path.split(sep).join("/"));
    } catch (error) {
      if (error instanceof PathNotAllowedError) return undefined;
      throw error;
    }
  }
}

/** A file with its required state. Paths are relative to the root. */
export interface FileToRecover {
  readonly path: string;
  readonly found: FoundFile;
  /** The state that the resumed run needs. Omitted if unknown. */
  readonly needed?: FileState;
  /** The state before the agent's first change, or after it if that change created the file. */
  readonly base?: FileState;
}

/** A file content that a checkpoint requires. */
export interface RequiredContent {
  readonly hash: string;
  /** The length of the content. `undefined` if the log does not contain the content. */
  readonly bytes: number | undefined;
}

const defaultMode = 0o644;

/**
 * Decides which state a resumed run needs: the last state of a file that the agent changed after the checkpoint,
 * because calls are not repeated, otherwise the state at the checkpoint.
 *
 * @param before notes up to the checkpoint, oldest first
 * @param since later changes of the file
 * @param required the content at the checkpoint, if required
 */
function fileToRecover(
  path: string,
  found: FoundFile,
  {
    before,
    since,
    required,
  }: {
    readonly before: readonly FileNote[];
    readonly since: FileHistory | undefined;
    readonly required: RequiredContent | undefined;
  },
): FileToRecover {
  const changes = before.flatMap((note) => note.changes).filter((change) => change.path === path);
  const [first] = changes;
  const base = first ? (first.before ?? first.after) : (since?.target ?? since?.first);
  const left = changes.map(({ after }) => after);
  const atCheckpoint = required ? stateAt(left, found, required) : left.at(-1);
  const needed = since ? since.spans.at(-1)?.after : atCheckpoint;
  return withoutUndefined({ path, found, needed, base });
}

async function optionsForFile(
  { found, needed, base }: FileToRecover,
  content: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<readonly RecoveryOption[]> {
  const contentOf = async (state: FileState | undefined) => (state?.kind === "file" ? content(state.hash) : undefined);
  const wanted = await contentOf(needed);
  if (!wanted) return [];
  if (found.kind === "missing") return ["restore"];
  if (found.kind !== "file") return [];
  const sides = [wanted, found.content, await contentOf(base)];
  // A merge from the needed version would always return the current file.
  const canMerge = !isSameFile(base, needed) && sides.every((side) => side && textIn(side) !== undefined);
  return canMerge ? ["use_checkpoint", "merge"] : ["use_checkpoint"];
}

/** Returns the required state of a file, with the mode of the newest note or else of the current file. */
function stateAt(
  left: readonly (FileState | undefined)[],
  found: FoundFile,
  { hash, bytes }: RequiredContent,
): FileState | undefined {
  if (bytes === undefined) return undefined;
  const noted = left.findLast((state) => state?.kind === "file" && state.hash === hash);
  const mode = found.kind === "file" ? found.state.mode : defaultMode;
  return noted ?? { kind: "file", hash, bytes, mode };
}
