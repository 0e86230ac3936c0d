import { isDeepStrictEqual } from "node:util";
import { isSameFile } from "../../checkpoint/data/FileChange.ts";
import { type ConflictingFile, FileConflictError } from "../../errors/workspaceErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Note, ParticipantPlan, ParticipantRequest, StepRequest } from "../../journal/RollbackParticipant.ts";
import { type GitHistory, gitHistory } from "../capture/gitHistory.ts";
import type { Scan } from "../capture/Scan.ts";
import type { ConflictResolver } from "../conflicts/ConflictResolver.ts";
import { type FileNote, fileNoteOf, movedOver, type LeftOutFile, unknownIn } from "../files/FileNote.ts";
import { stateOf } from "../files/readFile.ts";
import { foldersAbove } from "../files/relativePath.ts";
import { withChanges } from "../git/commitFiles.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { carryOutRestore } from "./RestoreWriter.ts";
import {
  contentsOfOthers,
  fileHistories,
  type FileHistory,
  withoutFileOfOthers,
  withRedoneFiles,
  folderHistories,
  type FolderHistory,
  withRedoneFolders,
  withInterruptedCommands,
} from "./FileHistory.ts";
import { conflictingFile, asOpened, Obstacles, openedFolders } from "./lookAgain.ts";
import type { GitRestore } from "./GitRestore.ts";
import { type GitRestorePart, type PlannedGit, settleGit } from "./planGit.ts";
import type { FileConflict, FileResolution } from "./FileConflict.ts";
import {
  type PlannedFile,
  planRestore,
  type ConflictingPlan,
  contentsToStore,
  type SettledConflict,
  settleConflict,
} from "./settleConflict.ts";
import {
  type FolderModePart,
  type FolderPart,
  partsOf,
  type RestoreOutcome,
  type RestorePart,
  type RestoreStep,
  type PartOutcome,
} from "./RestoreStep.ts";

/**
 * Decides how to resolve a conflict. The handler may read the file. If the handler throws, the rollback is refused
 * without changes.
 */
export type ConflictHandler = (conflict: FileConflict) => FileResolution | PromiseLike<FileResolution>;

/** How often a plan reads all files, because files keep changing, before the rollback is refused. */
const looks = 5;

interface LookedAt {
  readonly files: readonly PlannedFile[];
  /** Directories that the agent created, innermost first. */
  readonly created: readonly FolderPart[];
  readonly modes: readonly FolderModePart[];
  readonly git: readonly PlannedGit[];
  readonly unknown: readonly LeftOutFile[];
}

export class FileRestore {
  constructor(
    readonly files: WorkspaceFiles,
    readonly onConflict: ConflictHandler | undefined,
    readonly resolver: ConflictResolver,
    /** Scans the directory without storing anything. */
    readonly scan: (before: Scan) => Promise<Scan>,
    readonly git: GitRestore,
  ) {}

  /** Reads every file that the agent changed and, in a redo, every file whose changes are redone. Changes nothing. */
  async look(request: ParticipantRequest): Promise<LookedAt> {
    const undone = changesOf(await withInterruptedCommands(request, this.scan));
    const { redone: again = [] } = request;
    // The changes of a command after its last scan are unknown, and the current state does not reveal them.
    const scanned = { notes: again.toReversed(), content: request.content };
    const redone = changesOf(await withInterruptedCommands(scanned, (before) => Promise.resolve(before)));
    const all = withRedoneFiles(undone.files, redone.files);
    const allFolders = withRedoneFolders(undone.folders, redone.folders);
    const hasRoom = roomIn(all);
    const [histories, blocked] = [all.filter(hasRoom), all.filter((history) => !hasRoom(history))];
    const folders = allFolders.filter(hasRoom);
    const created = createdIn(folders);
    const modes = await this.#modesOf(folders.filter(({ byOthers }) => !byOthers));
    const others = contentsOfOthers([...undone.files, ...redone.files], blocked);
    const planned = await this.#planFiles(histories, [...created, ...modes], others);
    const lost = request.redone ? await lostIn(planned, request) : [];
    const isLost = new Set(lost.map(({ path }) => path));
    const git = await this.git.look(undone.git, redone.git);
    return {
      files: planned.filter(({ history }) => !isLost.has(history.path)),
      created,
      modes,
      git: git.plans,
      unknown: [
        ...undone.unknown,
        ...unknownIn(again.map(({ value }) => fileNoteOf(value))),
        ...lost,
        ...[...blocked, ...allFolders.filter((folder) => !hasRoom(folder))].map(withoutRoom),
        ...folders.filter(({ byOthers }) => byOthers).map(changedByOthers),
        ...git.unknown,
      ],
    };
  }

  async #planFiles(
    histories: readonly FileHistory[],
    folders: readonly (FolderPart | FolderModePart)[],
    others: ReadonlySet<string>,
  ): Promise<readonly PlannedFile[]> {
    const opened = await openedFolders(this.files, folders);
    const plans = new Map<string, PlannedFile | undefined>();
    const byPath = new Map(histories.map((history) => [history.path, history]));
    await this.files.lookAtAll(byPath.keys(), (path, found) => {
      const history = byPath.get(path);
      if (history) plans.set(path, planRestore(history, asOpened(found, opened), others));
    });
    const removed = histories.filter(({ path }) => isRemoval(plans.get(path))).map(({ path }) => path);
    const created = folders.filter(({ kind }) => kind === "folder").map(({ path }) => path);
    const obstacles = new Obstacles(this.files, new Set(removed), new Set(created));
    for (const history of histories) {
      const plan = plans.get(history.path);
      if (plan?.kind === "conflict" && (await obstacles.include(history.path, plan.found)))
        plans.set(history.path, planRestore(history, { kind: "missing" }));
    }
    return histories.flatMap(({ path }) => plans.get(path) ?? []);
  }

  async #modesOf(folders: readonly FolderHistory[]): Promise<readonly FolderModePart[]> {
    const parts: FolderModePart[] = [];
    for (const { path, target, last } of folders) {
      if (target === undefined) continue;
      const now = await this.files.folderMode(path).catch(() => undefined);
      if (now !== target) parts.push(withoutUndefined({ kind: "folder_mode", path, before: target, after: last }));
    }
    return parts;
  }

  /**
   * Returns the restore as one atomic step.
   *
   * @throws FileConflictError for an unresolved conflict. Nothing is changed.
   */
  async plan(request: ParticipantRequest): Promise<ParticipantPlan> {
    await this.#tidy(request);
    const answered = new Map<string, Answered>();
    const answeredGit: AnsweredGit = new Map();
    for (let look = 1; look <= looks; look++) {
      const looked = await this.look(request);
      const open: ConflictingFile[] = [];
      const asked = await this.#settle(looked.files, request, { answered, open });
      const askedGit = await this.#settleGit(looked.git, { answered: answeredGit, open });
      if (open.length > 0) throw new FileConflictError(request.agentId, request.checkpointId, open);
      // The files may have changed during a decision.
      if (!asked && !askedGit) return planOf(looked, answered, answeredGit);
    }
    const open = [...answered.values(), ...answeredGit.values()].map(({ plan }) =>
      conflictingFile(plan.conflict, "others keep changing it"),
    );
    throw new FileConflictError(request.agentId, request.checkpointId, open);
  }

  /** Removes temporary files of interrupted calls that are not repeated. */
  #tidy({ notes }: ParticipantRequest): Promise<void> {
    const interrupted = fileHistories(notes.toReversed()).filter(({ uncertain }) => uncertain);
    return this.files.removeUnfinished(interrupted.map(({ path }) => path));
  }

  /** Requests decisions about unresolved conflicts. Returns whether a decision was requested. */
  async #settle(
    files: readonly PlannedFile[],
    request: ParticipantRequest,
    { answered, open }: { readonly answered: Map<string, Answered>; readonly open: ConflictingFile[] },
  ): Promise<boolean> {
    let asked = false;
    for (const plan of files) {
      if (plan.kind !== "conflict" || isAnswered(plan, answered)) continue;
      asked = true;
      const answer = await this.onConflict?.(plan.conflict);
      const settled =
        answer === undefined || answer === "abort"
          ? { refused: undefined }
          : await settleConflict(plan, answer, { request, resolver: this.resolver });
      if ("refused" in settled) open.push(conflictingFile(plan.conflict, settled.refused));
      else answered.set(plan.history.path, { plan, settled });
    }
    return asked;
  }

  /** Does the same as {@link #settle} for HEAD and the index. */
  async #settleGit(
    plans: readonly PlannedGit[],
    { answered, open }: { readonly answered: AnsweredGit; readonly open: ConflictingFile[] },
  ): Promise<boolean> {
    let asked = false;
    for (const { part, conflict } of plans) {
      if (!conflict || isDeepStrictEqual(answered.get(part.path)?.plan, { part, conflict })) continue;
      asked = true;
      const answer = await this.onConflict?.(conflict);
      const plan = { part, conflict };
      const settled = answer === undefined || answer === "abort" ? { refused: undefined } : settleGit(plan, answer);
      if ("refused" in settled) open.push(conflictingFile(conflict, settled.refused));
      else answered.set(part.path, { plan, settled });
    }
    return asked;
  }

  /**
   * Executes a step. A repeated call has the same result.
   *
   * @returns the outcomes that deviate from the plan.
   * @throws FileConflictError after all files got their former states back
   */
  async apply(step: RestoreStep, request: StepRequest): Promise<RestoreOutcome | undefined> {
    const outcome = new Map<string, PartOutcome>();
    const ask = async (conflict: FileConflict) => this.onConflict?.(conflict);
    const parts = partsOf(step);
    const restoring = { files: this.files, request, outcome, ask, refused: new Map<string, string>() };
    const git = await this.git.lookAgain(parts, restoring);
    await carryOutRestore(parts, restoring);
    await this.git.apply(git, restoring).catch((error: unknown) => {
      throw withChanges(error, "The files were restored. HEAD or the index was not.");
    });
    return outcome.size > 0 ? Object.fromEntries(outcome) : undefined;
  }
}

interface NotedFiles {
  readonly files: readonly FileHistory[];
  readonly folders: readonly FolderHistory[];
  readonly git: GitHistory;
  readonly unknown: readonly LeftOutFile[];
}

/** @param notes oldest first */
function changesOf(notes: readonly Note[]): NotedFiles {
  const noted = notes.map(({ value }) => fileNoteOf(value));
  const isMovedOver = movedOver(noted);
  const fileAt = firstChanges(noted, ({ changes }) => changes);
  const folderAt = firstChanges(noted, ({ folderModes = [] }) => folderModes);
  // Others created a directory in place of a file that the agent had deleted before.
  const isOfOthers = ({ path, target }: FolderHistory) =>
    target !== undefined && (fileAt.get(path) ?? noted.length) < (folderAt.get(path) ?? 0);
  const folders = folderHistories(noted, 0o777 & ~process.umask()).filter((history) => !isOfOthers(history));
  const before = new Set(folders.filter(({ target }) => target !== undefined).map(({ path }) => path));
  const files = fileHistories(notes)
    .filter(({ path }) => !isMovedOver(path))
    .map((history) => (history.target && before.has(history.path) ? withoutFileOfOthers(history) : history));
  return { files, folders, git: gitHistory(notes), unknown: unknownIn(noted) };
}

/** Returns the position of the first note about each path. */
function firstChanges(
  notes: readonly FileNote[],
  changesIn: (note: FileNote) => readonly { readonly path: string }[],
): ReadonlyMap<string, number> {
  return new Map(notes.flatMap((note, at) => changesIn(note).map(({ path }) => [path, at] as const)).toReversed());
}

/** Returns whether an entry can exist: no directory above it is a file at the checkpoint. */
function roomIn(histories: readonly FileHistory[]): (entry: FileHistory | FolderHistory) => boolean {
  const restored = new Set(histories.filter(({ target }) => target).map(({ path }) => path));
  return ({ path, target }) => target === undefined || !foldersAbove(path).some((folder) => restored.has(folder));
}

function withoutRoom({ path }: FileHistory | FolderHistory): LeftOutFile {
  return { path, reason: "has no room, because a directory above it is a file at the checkpoint" };
}

/** Returns the files of a redo whose contents were pruned. */
async function lostIn(planned: readonly PlannedFile[], { content }: ParticipantRequest): Promise<LeftOutFile[]> {
  const lost: LeftOutFile[] = [];
  for (const { history } of planned) {
    const { path, target } = history;
    if (target?.kind === "file" && !(await content(target.hash)))
      lost.push({ path, reason: "has content at the checkpoint that was pruned" });
  }
  return lost;
}

interface Answered {
  readonly plan: ConflictingPlan;
  readonly settled: SettledConflict;
}

type AnsweredGit = Map<
  string,
  {
    readonly plan: PlannedGit & { readonly conflict: FileConflict };
    readonly settled: { readonly part: GitRestorePart; readonly content?: Uint8Array };
  }
>;

function changedByOthers({ path }: FolderHistory): LeftOutFile {
  return { path, reason: "has permissions that others changed" };
}

function createdIn(folders: readonly FolderHistory[]): readonly FolderPart[] {
  const created = folders.filter(({ target }) => target === undefined);
  const parts = created.map(({ path, last, byOthers }) => {
    const isShut = last !== undefined && (last & 0o300) !== 0o300;
    const mode = isShut && !byOthers ? last : undefined;
    return withoutUndefined({ kind: "folder", path, mode } as const);
  });
  return parts.toSorted((a, b) => (a.path < b.path ? 1 : -1));
}

function isRemoval(plan: PlannedFile | undefined): boolean {
  return plan?.kind === "restore" && plan.history.target === undefined;
}

function isAnswered({ history, found }: ConflictingPlan, answered: ReadonlyMap<string, Answered>): boolean {
  const before = answered.get(history.path)?.plan.found;
  return before !== undefined && before.kind === found.kind && isSameFile(stateOf(before), stateOf(found));
}

function planOf(
  { files, created, modes, git, unknown }: LookedAt,
  answered: ReadonlyMap<string, Answered>,
  answeredGit: AnsweredGit,
): ParticipantPlan {
  const contents = new Map<string, Uint8Array>();
  const fileParts = files.map((plan): RestorePart => {
    const { path, target } = plan.history;
    if (plan.kind === "restore")
      return withoutUndefined({ kind: "file", path, before: stateOf(plan.found), after: target });
    const answer = answered.get(path);
    if (!answer) throw new TypeError(`no decision was requested about ${path}`);
    for (const [hash, content] of contentsToStore(answer.settled, answer.plan.found)) contents.set(hash, content);
    return answer.settled.part;
  });
  const gitParts = git.map(({ part, conflict }): GitRestorePart => {
    const settled = conflict && answeredGit.get(part.path)?.settled;
    if (settled?.content && settled.part.kind === "git_index" && settled.part.replaced !== undefined)
      contents.set(settled.part.replaced, settled.content);
    return settled?.part ?? part;
  });
  const removes = (part: RestorePart) => part.kind === "file" && !part.after;
  const parts: readonly RestorePart[] = [
    ...fileParts.filter(removes),
    ...created,
    ...modes,
    ...fileParts.filter((part) => !removes(part)),
    ...gitParts,
    ...unknown.map((left) => ({ kind: "unknown", ...left }) as const),
  ];
  return { steps: parts.length > 0 ? [{ kind: "restore", parts }] : [], contents };
}
