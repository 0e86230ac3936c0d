import { FileConflictError, type ConflictingFile, GitError } from "../../errors/workspaceErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { StepRequest } from "../../journal/RollbackParticipant.ts";
import { gitHeadOf } from "../capture/GitView.ts";
import { type GitState, gitStateOf, isSameHead } from "../capture/GitState.ts";
import type { LeftOutFile } from "../files/FileNote.ts";
import { type TreeEntry, indexEntries } from "../git/gitChanges.ts";
import { GitRepository, assertNothingInProgress, operationInProgress } from "../git/GitRepository.ts";
import { commitOf, workTreeOf } from "../git/history.ts";
import { IndexLock } from "../git/IndexLock.ts";
import type { FileConflict } from "./FileConflict.ts";
import { type GitHistory, withRedoneGit } from "../capture/gitHistory.ts";
import { conflictingFile, type Restoring } from "./lookAgain.ts";
import {
  type GitHeadPart,
  type GitIndexPart,
  isAtStart,
  isDone,
  type PlannedGit,
  planGit,
  unkeptGit,
} from "./planGit.ts";
import type { RestorePart } from "./RestoreStep.ts";

type GitPart = GitHeadPart | GitIndexPart;

/** The attempts before a restore is refused. An attempt fails if another program uses git at the same time. */
const attempts = 3;
const reflogMessage = "rollback of an agent";

interface LookedAtGit {
  readonly plans: readonly PlannedGit[];
  readonly unknown: readonly LeftOutFile[];
}

/** Restores HEAD, and the index entries that commands changed, to a checkpoint. Never moves branches. */
export class GitRestore {
  constructor(
    readonly root: string,
    /** Whether to restore changes. If false, changes are only reported. */
    readonly isEnabled: boolean,
    readonly read: () => Promise<GitState | undefined>,
  ) {}

  /** Reads HEAD and the index. @param undone the reverted changes @param redone the changes of a redo */
  async look(undone: GitHistory, redone: GitHistory): Promise<LookedAtGit> {
    const history = withRedoneGit(undone, redone);
    const { head, moved, index, isIndexUnknown, interrupted } = history;
    if (!head && moved.size + index.size + interrupted.length === 0 && !isIndexUnknown)
      return { plans: [], unknown: [] };
    const now = await this.read();
    if (!now) return { plans: [], unknown: [{ path: ".git", reason: "cannot be read by git" }] };
    const unknown = unkeptGit(history, now, this.isEnabled);
    const plans = this.isEnabled ? planGit(history, now) : [];
    return { plans: plans.length > 0 ? await this.#withObstacles(plans, history) : [], unknown };
  }

  #withObstacles(plans: readonly PlannedGit[], history: GitHistory): Promise<readonly PlannedGit[]> {
    return GitRepository.with(this.root, async (repository) => {
      const operation = await operationInProgress(repository);
      const reason = operation && `cannot be restored while ${operation} is in progress`;
      return Promise.all(
        plans.map(async ({ part, conflict }): Promise<PlannedGit> => {
          const found = reason ?? (part.kind === "git_head" ? await this.#obstacle(repository, part) : undefined);
          if (found !== undefined)
            return { part, conflict: { kind: "file_unreachable", path: part.path, reason: found } };
          const isMoved = part.kind === "git_head" && !conflict && (await hasOtherCommits(repository, history));
          return isMoved
            ? { part, conflict: { kind: "git_state_changed", path: part.path } }
            : { part, ...(conflict && { conflict }) };
        }),
      );
    });
  }

  /** Returns the reason why HEAD cannot be restored, or `undefined`. */
  async #obstacle(repository: GitRepository, { after }: GitHeadPart): Promise<string | undefined> {
    const { branch, commit } = after;
    if (branch === undefined)
      return (await commitOf(repository, commit ?? "")) === undefined
        ? `cannot be restored: ${commit} no longer exists`
        : undefined;
    if (commit !== undefined && (await commitOf(repository, branch)) === undefined)
      return `cannot be restored: ${branch} no longer exists`;
    const elsewhere = commit === undefined ? "" : await workTreeOf(repository, branch);
    return elsewhere === ""
      ? undefined
      : `cannot be restored: ${branch} is checked out in ${JSON.stringify(elsewhere)}`;
  }

  /**
   * Reads HEAD and the index again and requests decisions about changes.
   *
   * @returns the parts to restore, with their current states
   * @throws FileConflictError
   */
  async lookAgain(parts: readonly RestorePart[], restoring: Asking): Promise<readonly GitPart[]> {
    const wanted = parts.filter((part): part is GitPart => part.kind === "git_head" || part.kind === "git_index");
    if (wanted.length === 0) return [];
    const now = await this.read();
    if (!now) {
      leave(wanted, new GitError("", "the repository of the workspace cannot be read"), restoring);
      return [];
    }
    const todo: GitPart[] = [];
    const open: ConflictingFile[] = [];
    for (const part of wanted.filter((each) => !isDone(each, now))) {
      const current = partFrom(part, now);
      const decided = isAtStart(part, now) || (await this.#decide(part, restoring));
      if (decided === true) todo.push(current);
      else if (decided) open.push(decided);
    }
    if (open.length > 0) throw conflictError(restoring.request, open);
    return todo;
  }

  /** @returns `true` to restore, or `undefined` to keep the current state */
  async #decide({ path }: GitPart, { ask, outcome, request }: Asking): Promise<true | ConflictingFile | undefined> {
    const conflict: FileConflict = { kind: "git_state_changed", path };
    const answer = await ask(conflict);
    if (answer === "use_checkpoint") {
      outcome.set(path, { change: "write (use_checkpoint)" });
      return true;
    }
    if (answer !== "use_current" && request.onFailure === "stop") return conflictingFile(conflict, undefined);
    outcome.set(path, { change: answer === "use_current" ? answer : "not applied: it was changed" });
    return undefined;
  }

  /** Restores the parts that `lookAgain` returned. @throws GitError, FileConflictError */
  async apply(todo: readonly GitPart[], restoring: Asking): Promise<void> {
    for (let attempt = 1; todo.length > 0; attempt++) {
      if (await this.#applyOnce(todo, restoring)) return;
      const open = todo.map(({ path }) =>
        conflictingFile({ kind: "git_state_changed", path }, "others keep changing it"),
      );
      if (attempt === attempts) return leave(todo, conflictError(restoring.request, open), restoring);
      todo = await this.lookAgain(todo, restoring);
    }
  }

  /** @returns `false` without any change if others changed HEAD or the index meanwhile */
  async #applyOnce(todo: readonly GitPart[], restoring: Asking): Promise<boolean> {
    const { outcome, request } = restoring;
    const restore = async (repository: GitRepository): Promise<boolean> => {
      await using lock = await IndexLock.take(repository);
      await assertNothingInProgress(repository, "rollback");
      const now = gitStateOf(await gitHeadOf(repository), await indexEntries(repository));
      if (!todo.every((part) => isDone(part, now) || isAtStart(part, now))) return false;
      const head = todo.find((part) => part.kind === "git_head");
      const index = todo.find((part) => part.kind === "git_index");
      const commit = head ? await commitAfter(repository, head) : now.head.commit;
      const writesIndex = index !== undefined && index.base === commit;
      if (index && !writesIndex)
        outcome.set(index.path, {
          change: `not restored: HEAD is at ${commit ?? "no commit"}, not at ${index.base ?? "no commit"}`,
        });
      if (writesIndex) await lock.prepare(treeEntries(index));
      repository.startChange();
      if (head) await setHead(repository, head);
      if (writesIndex) await lock.put();
      return true;
    };
    try {
      return await GitRepository.with(this.root, restore, request.abortSignal);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      leave(todo, error, restoring);
      return true;
    }
  }
}

type Asking = Pick<Restoring, "request" | "outcome" | "ask">;

/** Reports parts as not applied. @throws the error unless failures may stay */
function leave(parts: readonly GitPart[], error: Error, { request, outcome }: Asking): void {
  if (request.onFailure === "stop") throw error;
  for (const { path } of parts) outcome.set(path, { change: `not applied: ${error.message}` });
}

function conflictError({ agentId, checkpointId }: StepRequest, open: readonly ConflictingFile[]): FileConflictError {
  return new FileConflictError(agentId, checkpointId, open);
}

function partFrom(part: GitPart, now: GitState): GitPart {
  if (part.kind === "git_head") return { ...part, before: now.head };
  const changes = part.changes.map(({ path, after }) => withoutUndefined({ path, before: now.index.get(path), after }));
  return { ...part, changes };
}

async function hasOtherCommits(repository: GitRepository, { head }: GitHistory): Promise<boolean> {
  const { branch, commit } = head?.target ?? {};
  return branch !== undefined && (await commitOf(repository, branch)) !== commit;
}

async function commitAfter(repository: GitRepository, { after }: GitHeadPart): Promise<string | undefined> {
  return after.branch === undefined ? after.commit : commitOf(repository, after.branch);
}

async function setHead(repository: GitRepository, { before, after }: GitHeadPart): Promise<void> {
  if (isSameHead(before, after)) return;
  const { branch, commit = "" } = after;
  await repository.setRef(
    branch === undefined
      ? ["update-ref", "--no-deref", "-m", reflogMessage, "HEAD", commit]
      : ["symbolic-ref", "-m", reflogMessage, "HEAD", branch],
  );
}

/** Puts removals first, so that a file can replace a directory. */
function treeEntries({ changes }: GitIndexPart): readonly TreeEntry[] {
  return [
    ...changes.map(({ path }) => ({ path })),
    ...changes.flatMap(({ path, after = "" }) =>
      after === "" ? [] : after.split("\n").map((line) => ({ path, object: objectIn(line) })),
    ),
  ];
}

function objectIn(line: string): { readonly mode: string; readonly id: string; readonly stage: string } {
  const [mode = "", id = "", stage = "0"] = line.split(" ");
  return { mode, id, stage };
}
