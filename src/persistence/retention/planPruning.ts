import { liveEntries, pruningIn, prunedRanges } from "../../checkpoint/pruning/liveEntries.ts";
import { headsOf, neededCheckpoints } from "../../checkpoint/pruning/neededCheckpoints.ts";
import { mergedAt } from "../../checkpoint/state/BranchChanges.ts";
import { neededContents } from "../../checkpoint/pruning/neededContents.ts";
import { rewriteKept, withoutPacks } from "../../checkpoint/pruning/rewriteKept.ts";
import type { AgentRecord, PrunedRecord, RestatedEntry } from "../../checkpoint/records/AgentRecord.ts";
import { addAllBlobs } from "../../checkpoint/records/blobReferences.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { LaneRecord, CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { BlobTexts } from "../../checkpoint/state/ValueReader.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { Pace } from "../../internal/nextTurn.ts";
import { firstOfRun } from "../../journal/findCheckpoint.ts";
import type { FullRetentionPolicy } from "../config/RetentionPolicy.ts";
import { awayStatuses } from "../../journal/assertCustody.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";

/** The deleted data of one agent. */
export interface PrunedAgent {
  readonly agentId: string;
  /** True if the whole agent is deleted. */
  readonly dropped: boolean;
  /** Ids of the deleted checkpoints, oldest first. */
  readonly checkpointIds: readonly string[];
  /** The deleted size, estimated in bytes of JSON before compression. */
  readonly bytes: number;
  /** The error that stopped the removal. The next pruning removes the rest. `undefined` if all bytes were removed. */
  readonly outstanding?: unknown;
}

export interface PruningPlan {
  readonly pruned: PrunedAgent;
  /** `undefined` if the whole agent is deleted. */
  readonly record?: PrunedRecord;
}

export interface PruningOptions {
  readonly policy: FullRetentionPolicy;
  readonly now: number;
  readonly hasInverse: (tool: string) => boolean;
}

/** Applies a policy to a stored log. Returns `undefined` if nothing must be deleted. */
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
    // After a crash, blobs that an earlier pruning removes can still exist.
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

/** Returns the data on which retention depends. `undefined` without a status and during a rollback. */
export function retainableAgent(index: LogProjection): RetainableAgent | undefined {
  const { current } = index.statusState;
  if (!current || index.rollback) return undefined;
  const points = [...index.checkpoints.values()];
  const exempt = exemptVersions(index, points);
  const times = [...points.map(({ record }) => record.at), ...[...index.runRecords.values()].map(({ at }) => at)];
  return {
    status: current.status,
    lastTime: times.reduce((latest, at) => Math.max(latest, at), current.at),
    checkpoints: points.map((point) => {
      const { version } = point;
      const isExempt = exempt.has(version);
      return { version, exempt: isExempt, goesFirst: !isExempt && point !== index.latest && goesFirst(index, point) };
    }),
  };
}

/** Returns the kept checkpoints that do not count toward the maximum. The head counts if the agent has only one. */
function exemptVersions(index: LogProjection, points: readonly CheckpointPoint[]): ReadonlySet<number> {
  const isNamed = ({ record, version }: CheckpointPoint) =>
    record.id !== undefined || index.names.nameOf(version) !== undefined;
  const named = points.filter(isNamed).map(({ version }) => version);
  const noted = linesWithNotes(index);
  const beginnings = [...index.lanes.values()].flatMap(({ record }) => beginningOf(index, record, noted));
  const start = index.unfinished ? firstOfRun(index)?.version : undefined;
  // The first checkpoint of the agent is always kept, and counts.
  if (start !== undefined && start !== points[0]?.version) beginnings.push(start);
  const heads = headsOf(index).map(({ version }) => version);
  const wanted = [...named, ...beginnings, ...index.redoneFrom];
  if (heads.length > 1) return neededCheckpoints(index, [...wanted, ...heads]);
  const exempt = new Set(neededCheckpoints(index, [...wanted, ...heads]));
  for (const head of heads) if (!wanted.includes(head)) exempt.delete(head);
  return exempt;
}

/**
 * Returns the checkpoint from which a lane starts, if the state there must stay. A later run needs only the messages of
 * that state. A finished branch needs the state only for a rollback of its notes.
 */
function beginningOf({ lines }: LogProjection, { lane, from, keep }: LaneRecord, noted: ReadonlySet<number>): number[] {
  if (from === undefined) return [];
  const line = lines.nestedLine(lane);
  const isNeeded = line ? lines.isOpen(line.lane) || noted.has(line.first) : keep === "all";
  return isNeeded ? [from] : [];
}

function linesWithNotes({ lines, notes }: LogProjection): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { record } of notes) {
    for (const { first } of lines.around(record.lane)) found.add(first);
  }
  return found;
}

/** Returns whether a checkpoint is deleted first: of a finished branch or sub-agent, or of a merge. */
function goesFirst(index: LogProjection, point: CheckpointPoint): boolean {
  const line = index.lines.nestedLine(point.record.lane);
  return (line !== undefined && !index.lines.isOpen(line.lane)) || mergedAt(index, point) !== undefined;
}

interface RetainableCheckpoint {
  readonly version: number;
  readonly exempt: boolean;
  readonly goesFirst?: boolean;
}

interface RetainableAgent {
  readonly status: string;
  readonly lastTime: number;
  readonly checkpoints: readonly RetainableCheckpoint[];
}

type RetentionPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "drop" }
  | { readonly kind: "prune"; readonly kept: ReadonlySet<number> };

const dayMs = 24 * 60 * 60 * 1000;
const factor = 5;

export function planRetention(agent: RetainableAgent, policy: FullRetentionPolicy, now: number): RetentionPlan {
  const { status, lastTime, checkpoints } = agent;
  if (status === "queued") return { kind: "keep" };
  const days = daysFor(status, policy);
  if (now - lastTime >= days * dayMs) return { kind: "drop" };
  const countable = checkpoints.filter(({ exempt }) => !exempt);
  const atMost = mostFor(status, policy);
  if (countable.length <= atMost) return { kind: "keep" };
  const staying = countable.filter(({ goesFirst }) => !goesFirst).map(({ version }) => version);
  const kept = staying.length <= atMost ? new Set(staying) : thinned(staying, atMost);
  for (const { version, exempt } of checkpoints) if (exempt) kept.add(version);
  return { kind: "prune", kept };
}

/** Returns whether an agent may need pruning. In a run, its summary does not count the newest checkpoints. */
export function mayBeDue(
  { status, updatedAt, checkpoints }: Pick<AgentSummary, "status" | "updatedAt" | "checkpoints">,
  policy: FullRetentionPolicy,
  now: number,
): boolean {
  if (status === "queued" || awayStatuses.has(status)) return false;
  if (checkpoints === undefined || !counted.has(status)) return true;
  return now - Date.parse(updatedAt) >= daysFor(status, policy) * dayMs || checkpoints > mostFor(status, policy);
}

const counted: ReadonlySet<string> = new Set(["queued", "paused", "waiting", "completed", "failed", "cancelled"]);

function mostFor(status: string, { maxCheckpoints, maxCheckpointsPaused }: FullRetentionPolicy): number {
  return status === "paused" || status === "waiting" ? maxCheckpointsPaused : maxCheckpoints;
}

function daysFor(status: string, { completedDays, failedDays }: FullRetentionPolicy): number {
  if (status === "completed" || status === "cancelled") return completedDays;
  return status === "failed" ? failedDays : Infinity;
}

/** Selects by version and not by index, so that a second pruning deletes no further checkpoints. */
function thinned(versions: readonly number[], atMost: number): Set<number> {
  const [first, last] = [versions[0], versions.at(-1)];
  for (let step = factor; ; step *= factor) {
    const kept = new Set(versions.filter((version) => version === first || version === last || version % step === 0));
    if (kept.size <= Math.max(2, atMost)) return kept;
  }
}
