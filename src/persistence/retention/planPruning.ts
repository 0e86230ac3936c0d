import { addAllBlobs } from "../../checkpoint/records/blobReferences.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { liveEntries, pruningIn, prunedRanges } from "../../checkpoint/pruning/liveEntries.ts";
import { neededContents } from "../../checkpoint/pruning/neededContents.ts";
import { rewriteKept, withoutPacks } from "../../checkpoint/pruning/rewriteKept.ts";
import type { AgentRecord, PrunedRecord, RestatedEntry } from "../../checkpoint/records/AgentRecord.ts";
import type { BlobTexts } from "../../checkpoint/state/ValueReader.ts";
import { Pace } from "../../internal/nextTurn.ts";
import { planRetention } from "./planRetention.ts";
import { retainableAgent } from "./retainableAgent.ts";
import type { FullRetentionPolicy } from "../config/RetentionPolicy.ts";

/** The deleted data of one agent. */
export interface PrunedAgent {
  readonly agentId: string;
  /** True if the whole agent is deleted. */
  readonly dropped: boolean;
  /** Ids of the deleted checkpoints, oldest first. */
  readonly checkpointIds: readonly string[];
  /** The deleted size, estimated in bytes of JSON before compression. */
  readonly bytes: number;
  /**
   * The error that prevented the removal of the bytes. The bytes are no longer read, and the next pruning of the agent
   * removes them. `undefined` if the bytes were removed.
   */
  readonly outstanding?: unknown;
}

export interface PruningPlan {
  readonly pruned: PrunedAgent;
  /** `undefined` if the agent is dropped. */
  readonly record?: PrunedRecord;
}

export interface PruningOptions {
  readonly policy: FullRetentionPolicy;
  readonly now: number;
  readonly hasInverse: (tool: string) => boolean;
}

/**
 * Applies a policy to a stored log. Returns `undefined` if the policy deletes no data.
 *
 * @param noteTexts The texts of the blobs that contain values of notes.
 */
export async function planPruning(
  agentId: string,
  stored: readonly Entry[],
  noteTexts: BlobTexts,
  options: PruningOptions,
): Promise<PruningPlan | undefined> {
  const pace = new Pace();
  const entries = liveEntries(stored);
  const index = new LogProjection();
  for (const entry of entries) await pace.after(index.add(entry));
  const agent = retainableAgent(index);
  const plan = agent && planRetention(agent, options.policy, options.now);
  if (!plan || plan.kind === "keep") return undefined;
  const size = await sizeOf(entries, pace);
  if (plan.kind === "drop")
    return { pruned: { agentId, dropped: true, checkpointIds: idsOf(index), bytes: size.bytes } };
  const whole = await rewriteKept(entries, index, plan.kept, options.hasInverse, pace);
  const needed = neededContents(index, whole, plan.kept, noteTexts);
  const restated = needed ? withoutPacks(whole, needed) : whole;
  const left = await sizeOf(restated, pace);
  const before = [...size.blobs, ...(pruningIn(stored)?.blobs ?? [])];
  return {
    pruned: {
      agentId,
      dropped: false,
      checkpointIds: idsOf(index, plan.kept),
      bytes: Math.max(0, size.bytes - left.bytes),
    },
    // After a crash, entries that an earlier pruning should have removed may still exist.
    record: recordOf(
      stored,
      restated,
      index.nextNumber,
      [...new Set(before)].filter((blob) => !left.blobs.has(blob)),
    ),
  };
}

function recordOf(
  stored: readonly Entry[],
  restated: readonly RestatedEntry[],
  nextNumber: number,
  blobs: readonly string[],
): PrunedRecord {
  const upTo = stored.at(-1)?.position ?? 0;
  return { kind: "pruned", upTo, gaps: prunedRanges(stored), restated, nextNumber, blobs };
}

function idsOf(index: LogProjection, except: ReadonlySet<number> = new Set()): readonly string[] {
  return [...index.checkpoints.values()].filter(({ version }) => !except.has(version)).map(({ id }) => id);
}

async function sizeOf(
  entries: readonly { readonly records: readonly object[] }[],
  pace: Pace,
): Promise<{ readonly bytes: number; readonly blobs: ReadonlySet<string> }> {
  const blobs = new Map<string, number>();
  let bytes = 0;
  for (const { records } of entries) {
    for (const record of records) addAllBlobs(record as AgentRecord, blobs);
    const own = estimateBytes(records);
    bytes += own;
    await pace.after(own);
  }
  for (const each of blobs.values()) bytes += each;
  return { bytes, blobs: new Set(blobs.keys()) };
}
