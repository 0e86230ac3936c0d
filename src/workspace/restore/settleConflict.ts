import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { textIn } from "../files/contentOf.ts";
import type { ConflictResolver } from "../conflicts/ConflictResolver.ts";
import { fileResolutions, type FileResolution } from "./FileConflict.ts";
import { stateOf, type PlannedFile } from "./planRestore.ts";
import type { RestoreStep } from "./RestoreStep.ts";

export type ConflictingPlan = PlannedFile & { readonly kind: "conflict" };

/** How one conflict was settled, or why the answer could not be followed. */
export type Settlement = { readonly step: RestoreStep; readonly content?: Uint8Array } | { readonly refused: string };

/** Turns the answer to a conflict into the step that follows it. Decides only; a content is there for `merge` alone. */
export async function settleConflict(
  plan: ConflictingPlan,
  settled: FileResolution,
  contentOf: (hash: string) => Promise<Uint8Array | undefined>,
  resolver: ConflictResolver,
): Promise<Settlement> {
  const { conflict, history, found } = plan;
  const { path, target } = history;
  if (!fileResolutions[conflict.kind].includes(settled) || settled === "abort")
    return { refused: settled === "abort" ? "aborted" : `"${settled}" is no answer to it` };
  if (settled === "use_current" || settled === "skip") return { step: { kind: "kept", path, settled } };
  if (found.kind === "other") return { refused: `it ${found.reason}, which is not replaced` };
  const before = stateOf(found);
  const from = { kind: "file", path, ...(before && { before }), settled } as const;
  if (settled !== "merge") return { step: { ...from, ...(target && { after: target }) } };
  return mergeInto(from, plan, contentOf, resolver);
}

/** From what the agent left, one side goes back to the checkpoint, and the other to what the file is now. */
async function mergeInto(
  from: RestoreStep & { readonly kind: "file" },
  { history: { path, target, last }, found }: ConflictingPlan,
  contentOf: (hash: string) => Promise<Uint8Array | undefined>,
  resolver: ConflictResolver,
): Promise<Settlement> {
  if (target?.kind !== "file" || last?.kind !== "file" || found.kind !== "file" || found.state.kind !== "file")
    return { refused: "only a file that was there all the time can be merged" };
  const [base, ours] = [await contentOf(last.hash), await contentOf(target.hash)];
  const texts = [base, ours, found.content].map((content) => content && textIn(content));
  const [agents, checkpoints, current] = texts;
  if (agents === undefined || checkpoints === undefined || current === undefined)
    return { refused: "only text can be merged" };
  const outcome = await resolver.resolve({ path, base: agents, ours: checkpoints, theirs: current });
  if (!outcome.settled)
    return { refused: `it cannot be merged: ${outcome.refused.map(({ reason }) => reason).join("; ")}` };
  const { text, settledBy } = outcome;
  const content = new TextEncoder().encode(text);
  const mode = found.state.mode === last.mode ? target.mode : found.state.mode;
  const after = { kind: "file", hash: nodeSha256.hex(content), bytes: content.length, mode } as const;
  return { step: { ...from, after, ...(settledBy !== "merge" && { settledBy }) }, content };
}
