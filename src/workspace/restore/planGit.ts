import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import {
  type GitHead,
  gitHeadSchema,
  type GitState,
  type IndexChange,
  indexChangesSchema,
  isSameHead,
  headText,
} from "../capture/GitState.ts";
import { commitIdSchema } from "../git/refName.ts";
import type { LeftOutFile } from "../files/FileNote.ts";
import { type FileConflict, type FileResolution, fileResolutions } from "./FileConflict.ts";
import type { GitHistory } from "../capture/gitHistory.ts";

/** The paths of HEAD and the index in reports, which no workspace file can have. */
const gitPaths = { head: ".git/HEAD", index: ".git/index" } as const;

/** Moves HEAD to `after` if HEAD is still at `before`. */
export interface GitHeadPart {
  readonly kind: "git_head";
  readonly path: typeof gitPaths.head;
  readonly before: GitHead;
  readonly after: GitHead;
  readonly settled?: FileResolution;
}

/** Changes index entries to `after` if they still equal `before`. */
export interface GitIndexPart {
  readonly kind: "git_index";
  readonly path: typeof gitPaths.index;
  /** The commit of the entries. Omitted without a commit. */
  readonly base?: string;
  readonly changes: readonly IndexChange[];
  readonly settled?: FileResolution;
  /** SHA-256 of the list of entries that others changed, in hex. Omitted without such entries. */
  readonly replaced?: string;
}

/** A decision kept HEAD or the index. */
interface GitKeptPart {
  readonly kind: "git_kept";
  readonly path: string;
  readonly settled: FileResolution;
}

export type GitRestorePart = GitHeadPart | GitIndexPart | GitKeptPart;

/** A plan for HEAD or the index. A conflict needs a decision first. */
export interface PlannedGit {
  readonly part: GitHeadPart | GitIndexPart;
  readonly conflict?: FileConflict;
}

const settled = z.enum(["use_current", "use_checkpoint", "skip"]);
const partSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("git_head"),
    path: z.literal(gitPaths.head),
    before: gitHeadSchema,
    after: gitHeadSchema,
    settled: settled.optional(),
  }),
  z.strictObject({
    kind: z.literal("git_index"),
    path: z.literal(gitPaths.index),
    base: commitIdSchema.optional(),
    changes: indexChangesSchema,
    settled: settled.optional(),
    replaced: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("git_kept"), path: z.enum([gitPaths.head, gitPaths.index]), settled }),
]);

export function isGitPart(value: unknown): value is GitRestorePart {
  return partSchema.safeParse(value).success;
}

export function planGit(history: GitHistory, now: GitState): readonly PlannedGit[] {
  return [headPlan(history, now), indexPlan(history, now)].filter((plan) => plan !== undefined);
}

function headPlan({ head }: GitHistory, now: GitState): PlannedGit | undefined {
  if (!head || isSameHead(now.head, head.target)) return undefined;
  const path = gitPaths.head;
  const part: GitHeadPart = { kind: "git_head", path, before: now.head, after: head.target };
  const isOwn = isSameHead(now.head, head.left) && !head.byOthers;
  return isOwn ? { part } : { part, conflict: { kind: "git_state_changed", path } };
}

function indexPlan(history: GitHistory, now: GitState): PlannedGit | undefined {
  if (history.isIndexUnknown || keepsCommits(history, now)) return undefined;
  const { base, index } = history;
  const changed = changedEntries(history, now);
  if (changed.length === 0) return undefined;
  const path = gitPaths.index;
  const changes = changed.map((name) =>
    withoutUndefined({ path: name, before: now.index.get(name), after: index.get(name)?.target }),
  );
  const part: GitIndexPart = withoutUndefined({ kind: "git_index", path, base, changes });
  const isOwn = changed.every((name) => {
    const entry = index.get(name);
    return entry?.byOthers === false && entry.left === now.index.get(name);
  });
  return isOwn ? { part } : { part, conflict: { kind: "git_state_changed", path } };
}

function changedEntries({ index }: GitHistory, now: GitState): readonly string[] {
  return [...index].filter(([name, { target }]) => now.index.get(name) !== target).map(([name]) => name);
}

/** Returns whether the branch to check out keeps commits of a command. If so, the index belongs to these commits. */
function keepsCommits({ head, moved, base }: GitHistory, now: GitState): boolean {
  const { branch } = head ? head.target : now.head;
  if (branch === undefined || !moved.has(branch)) return false;
  return branch !== now.head.branch || now.head.commit !== base;
}

const off = "; the option restoreGitState is off";

export function unkeptGit(history: GitHistory, now: GitState, isEnabled: boolean): readonly LeftOutFile[] {
  const unknown = [
    ...(isEnabled ? [] : unkeptHead(history, now)),
    ...movedBranches(history, now),
    ...unkeptIndex(history, now, isEnabled),
    ...interruptedChanges(history, now),
  ];
  return [...new Map(unknown.toReversed().map((each) => [each.path, each])).values()].toReversed();
}

function unkeptHead({ head }: GitHistory, now: GitState): readonly LeftOutFile[] {
  if (!head || isSameHead(now.head, head.target)) return [];
  const reason = `was changed by a command from ${headText(head.target)} to ${headText(head.left)}${off}`;
  return [{ path: gitPaths.head, reason }];
}

function movedBranches({ moved }: GitHistory, { head }: GitState): readonly LeftOutFile[] {
  return [...moved]
    .filter(([branch, { from }]) => branch !== head.branch || head.commit !== from)
    .map(([branch, { from = "no commit", to = "no commit" }]) => ({
      path: `.git/${branch}`,
      reason: `was moved by a command from ${from} to ${to}, and a rollback moves no branch`,
    }));
}

function unkeptIndex(history: GitHistory, now: GitState, isEnabled: boolean): readonly LeftOutFile[] {
  const because = (reason: string) => [{ path: gitPaths.index, reason: `was changed by a command${reason}` }];
  if (history.isIndexUnknown) return because(", in entries that cannot be kept");
  const { length } = changedEntries(history, now);
  if (length > 0 && !isEnabled) return because(` (entries: ${length})${off}`);
  return length > 0 && keepsCommits(history, now) ? because(", and belongs to commits that the branch keeps") : [];
}

function interruptedChanges({ interrupted }: GitHistory, now: GitState): readonly LeftOutFile[] {
  const reason = "may have been changed by an interrupted command";
  return interrupted.flatMap(({ before, after = now }) => [
    ...(isDeepStrictEqual(before.head, after.head) ? [] : [{ path: gitPaths.head, reason }]),
    ...(before.indexHash === after.indexHash ? [] : [{ path: gitPaths.index, reason }]),
  ]);
}

export function isDone(part: GitHeadPart | GitIndexPart, now: GitState): boolean {
  if (part.kind === "git_head") return isSameHead(now.head, part.after);
  return part.changes.every(({ path, after }) => now.index.get(path) === after);
}

/** Returns whether all states match the start of a part or its result. */
export function isAtStart(part: GitHeadPart | GitIndexPart, now: GitState): boolean {
  if (part.kind === "git_head") return isSameHead(now.head, part.before);
  return part.changes.every(({ path, before, after }) => [before, after].includes(now.index.get(path)));
}

/** Returns the part after a decision, or the reason why the decision is not possible. */
export function settleGit(
  { part, conflict }: PlannedGit & { readonly conflict: FileConflict },
  answer: FileResolution,
): { readonly part: GitRestorePart; readonly content?: Uint8Array } | { readonly refused: string } {
  if (!fileResolutions[conflict.kind].includes(answer)) return { refused: `"${answer}" is not a valid answer` };
  if (answer !== "use_checkpoint") return { part: { kind: "git_kept", path: part.path, settled: answer } };
  if (part.kind === "git_head") return { part: { ...part, settled: answer } };
  const lines = part.changes.flatMap(({ path, before }) =>
    (before ?? "").split("\n").map((line) => `${line}\t${path}\n`),
  );
  const content = new TextEncoder().encode(lines.join(""));
  return { part: { ...part, settled: answer, replaced: nodeSha256.hex(content) }, content };
}
