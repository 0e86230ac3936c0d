import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ParticipantRequest } from "../../journal/RollbackParticipant.ts";
import type { ConflictResolver, ResolutionStep } from "../conflicts/ConflictResolver.ts";
import { type FoundFile, stateOf, textIn, isDirectory, withoutContent } from "../files/readFile.ts";
import { type FileSpan, type FileHistory, leftStates } from "./FileHistory.ts";
import { type FileResolution, fileResolutions, conflictAt, type FileConflict } from "./FileConflict.ts";
import type { FilePart, RestorePart } from "./RestoreStep.ts";

export type ConflictingPlan = PlannedFile & { readonly kind: "conflict" };

export interface SettledConflict {
  readonly part: RestorePart;
  readonly content?: Uint8Array;
}

interface MergeTools {
  readonly request: Pick<ParticipantRequest, "content" | "abortSignal">;
  readonly resolver: ConflictResolver;
}

/** Applies a decision to a conflict plan, or returns the reason why the decision is not possible. Changes no files. */
export async function settleConflict(
  plan: ConflictingPlan,
  settled: FileResolution,
  tools: MergeTools,
): Promise<SettledConflict | { readonly refused: string }> {
  const { conflict, history, found } = plan;
  const { path, target, interrupted } = history;
  if (!fileResolutions[conflict.kind].includes(settled) || settled === "abort")
    return { refused: `"${settled}" is not a valid answer` };
  if (settled === "use_current" || settled === "skip") return { part: { kind: "kept", path, settled } };
  const from: FilePart = withoutUndefined({ kind: "file", path, before: stateOf(found), settled });
  if (settled !== "merge") return { part: withoutUndefined({ ...from, after: target }) };
  if (interrupted) return { refused: "a command was interrupted, so its changes cannot be told from those of others" };
  return mergeInto(from, plan, tools);
}

interface Version {
  readonly state?: FileState;
  readonly content?: Uint8Array;
  readonly resolvedBy?: ResolutionStep;
}

/** Removes the agent's changes from the current file, newest first. Changes that others made in between are kept. */
async function mergeInto(
  from: FilePart,
  { history: { path, spans }, found }: ConflictingPlan,
  tools: MergeTools,
): Promise<SettledConflict | { readonly refused: string }> {
  let version: Version = withoutUndefined({
    state: stateOf(found),
    content: found.kind === "file" ? found.content : undefined,
  });
  for (const span of spans.toReversed()) {
    const earlier = await withoutSpan(path, version, span, tools);
    if ("refused" in earlier) return earlier;
    version = earlier;
  }
  const { state: after, content, resolvedBy } = version;
  const settledBy = resolvedBy === "merge" ? undefined : resolvedBy;
  return withoutUndefined({ part: withoutUndefined({ ...from, after, settledBy }), content });
}

async function withoutSpan(
  path: string,
  version: Version,
  span: FileSpan,
  tools: MergeTools,
): Promise<Version | { readonly refused: string }> {
  const { before, after } = span;
  const { state, content, resolvedBy } = version;
  if (isSameFile(state, after)) return withoutUndefined({ ...(await earlierVersion(before, tools)), resolvedBy });
  if (before?.kind !== "file" || after?.kind !== "file" || state?.kind !== "file")
    return { refused: "only a file that exists in every version can be merged" };
  const texts = {
    base: await textOf(after, tools),
    ours: await textOf(before, tools),
    theirs: content && textIn(content),
  };
  if (!isComplete(texts)) return { refused: "only text can be merged" };
  const outcome = await tools.resolver.resolve({ path, ...texts }, tools.request.abortSignal);
  if (!outcome.resolved)
    return { refused: `it cannot be merged: ${outcome.refused.map(({ reason }) => reason).join("; ")}` };
  return withoutUndefined({
    ...fileOf(outcome.text, changedMode(after.mode, before.mode, state.mode)),
    resolvedBy: outcome.resolvedBy === "merge" ? resolvedBy : outcome.resolvedBy,
  });
}

interface Texts<Text> {
  readonly base: Text;
  readonly ours: Text;
  readonly theirs: Text;
}

function isComplete(texts: Texts<string | undefined>): texts is Texts<string> {
  return Object.values(texts).every((text) => text !== undefined);
}

async function earlierVersion(state: FileState | undefined, { request }: MergeTools): Promise<Version> {
  return withoutUndefined({ state, content: state?.kind === "file" ? await request.content(state.hash) : undefined });
}

async function textOf(
  { hash }: FileState & { readonly kind: "file" },
  { request }: MergeTools,
): Promise<string | undefined> {
  const content = await request.content(hash);
  return content && textIn(content);
}

function fileOf(text: string, mode: number): { readonly state: FileState; readonly content: Uint8Array } {
  const content = new TextEncoder().encode(text);
  return { content, state: { kind: "file", hash: nodeSha256.hex(content), bytes: content.length, mode } };
}

/** Returns the earlier mode unless others changed the mode since the agent's last change. */
function changedMode(after: number, before: number, current: number): number {
  return current === after ? before : current;
}

/** Returns the contents to store: the merged content, and contents of others that are replaced. */
export function contentsToStore({ part, content }: SettledConflict, found: FoundFile): ReadonlyMap<string, Uint8Array> {
  const contents = new Map<string, Uint8Array>();
  if (part.kind !== "file") return contents;
  if (content && part.after?.kind === "file") contents.set(part.after.hash, content);
  if (found.kind === "file") contents.set(found.state.hash, found.content);
  return contents;
}

export type PlannedFile = { readonly history: FileHistory; readonly found: FoundFile } & (
  | { readonly kind: "restore" }
  | { readonly kind: "conflict"; readonly conflict: FileConflict }
);

/**
 * Plans the restore of a file. Returns `undefined` if the file already equals the checkpoint and the agent replaced no
 * content of others. If the file is as the agent left it, and nobody else changed it between the agent's changes, all
 * its content is from the agent. Otherwise the file contains content of others.
 *
 * @param others contents that others wrote. If a command moved such a content, the file may be its only copy. Defaults
 * to an empty set.
 */
export function planRestore(
  history: FileHistory,
  found: FoundFile,
  others: ReadonlySet<string> = new Set(),
): PlannedFile | undefined {
  if (isAtTarget(history, found)) return undefined;
  if (isOwnWork(history, found, others)) return { kind: "restore", history, found: withoutContent(found) };
  return { kind: "conflict", conflict: conflictOf(history, found), history, found };
}

function isAtTarget(history: FileHistory, found: FoundFile): boolean {
  // A directory is not a file. Without a file at the checkpoint, no restore is needed.
  if (isDirectory(found) && !history.target) return true;
  if (found.kind === "other" || !isSameFile(stateOf(found), history.target)) return false;
  return history.spans.length === 1 || !isAsLeft(history, found);
}

function isOwnWork(history: FileHistory, found: FoundFile, others: ReadonlySet<string>): boolean {
  if (found.kind === "other" || found.unreachable !== undefined) return false;
  if (history.spans.length !== 1 || history.interrupted) return false;
  const now = stateOf(found);
  return isAsLeft(history, found) && !(now?.kind === "file" && others.has(now.hash));
}

function isAsLeft(history: FileHistory, found: FoundFile): boolean {
  const now = stateOf(found);
  return leftStates(history).some((left) => isSameFile(now, left));
}

function conflictOf({ path, spans, interrupted }: FileHistory, found: FoundFile): FileConflict {
  const conflict = conflictAt(path, found, interrupted);
  // Others changed the file between the agent's changes, so a merge is possible even if the file was deleted.
  return conflict.kind === "file_deleted" && spans.length > 1
    ? { ...conflict, kind: "file_modified_externally" }
    : conflict;
}
