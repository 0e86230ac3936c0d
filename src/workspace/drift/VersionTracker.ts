import { z } from "zod";
import { storageKey, type StorageKey } from "../../agent/context/StorageKey.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { DriftReport } from "./DriftReport.ts";

/** A change by others during a task, and its resolution. */
export interface DriftEvent {
  /** ISO 8601. */
  readonly detected_at: string;
  readonly type: "upstream_change" | "local_change" | "force_push";
  readonly details: {
    readonly commits_behind?: number;
    readonly conflicting_files?: readonly string[];
    readonly old_head?: string;
    readonly new_head?: string;
  };
  /** Omitted as long as the change is unresolved. */
  readonly resolution?: DriftResolution;
}

/** The resolution of a drift. */
export type DriftResolution = "ignored" | "rebased" | "task_restarted" | "user_handled";

/** The versions that a task has worked on, in the agent's storage, and so in each checkpoint. */
export interface VersionTracker {
  readonly task_id: string;
  /** The current commit at the start of the task. Empty without a commit. */
  readonly started_at_commit: string;
  readonly current_head: string;
  /** The upstream commit at the last fetch. Empty without a commit. */
  readonly upstream_head: string;
  /** Oldest first. */
  readonly drift_events: readonly DriftEvent[];
}

const eventSchema = z.object({
  detected_at: z.string(),
  type: z.enum(["upstream_change", "local_change", "force_push"]),
  details: z.object({
    commits_behind: z.number().exactOptional(),
    conflicting_files: z.array(z.string()).readonly().exactOptional(),
    old_head: z.string().exactOptional(),
    new_head: z.string().exactOptional(),
  }),
  resolution: z.enum(["ignored", "rebased", "task_restarted", "user_handled"]).exactOptional(),
});

/** The key of the tracker in the agent's storage. */
export const versionTrackerKey: StorageKey<VersionTracker> = storageKey(
  "drift",
  z.object({
    task_id: z.string(),
    started_at_commit: z.string(),
    current_head: z.string(),
    upstream_head: z.string(),
    drift_events: z.array(eventSchema).readonly(),
  }),
);

/**
 * Returns the tracker after a check, with an event for each change since the last one.
 *
 * @param about.earlierHead the upstream head of an earlier run, if there is no `known` tracker.
 * @param about.resolution the decision about the current upstream state, if any.
 */
export function trackVersions(
  known: VersionTracker | undefined,
  report: DriftReport,
  about: {
    readonly taskId: string;
    readonly at: string;
    readonly earlierHead?: string | undefined;
    readonly resolution?: DriftResolution;
  },
): VersionTracker {
  const { head = "", upstreamHead = "" } = report;
  const events = [...(known?.drift_events ?? []), ...newEvents(known, report, about)];
  const { resolution } = about;
  return {
    task_id: about.taskId,
    started_at_commit: known?.started_at_commit ?? head,
    current_head: head,
    upstream_head: upstreamHead,
    drift_events: resolution === undefined ? events : events.map((event) => settled(event, upstreamHead, resolution)),
  };
}

/** Resolves every open upstream change. */
export function settleAll(tracker: VersionTracker, resolution: DriftResolution): VersionTracker {
  const events = tracker.drift_events.map((event) =>
    event.type === "local_change" || event.resolution !== undefined ? event : { ...event, resolution },
  );
  return { ...tracker, drift_events: events };
}

/** Returns the upstream head to compare with: at the last check or, while a force push is unresolved, before it. */
export function knownHeadOf(tracker: VersionTracker | undefined): string | undefined {
  const last = lastAbout(tracker, tracker?.upstream_head ?? "");
  const isOpen = last?.type === "force_push" && last.resolution === undefined;
  const head = isOpen ? last.details.old_head : tracker?.upstream_head;
  return head === "" ? undefined : head;
}

/**
 * Returns the newest tracker from the storage and the notes of an agent. Notes contain trackers that the storage does
 * not have yet: while a run waits, and between a recovery and the next check.
 */
export function newestTracker(stored: unknown, noted: readonly unknown[]): VersionTracker | undefined {
  const known = [stored, ...noted].map((value) => z.safeParse(versionTrackerKey.schema, value).data);
  return known.reduce((newest, tracker) => (settledSteps(tracker) > settledSteps(newest) ? tracker : newest));
}

/** Returns the upstream head of the newest earlier run with a tracker. `checkpoints` are oldest first. */
export function earlierHeadOf(checkpoints: readonly AgentCheckpointData[], runId: string): string | undefined {
  for (const { runId: earlier, storage } of checkpoints.toReversed()) {
    const tracker = earlier === runId ? undefined : newestTracker(storage[versionTrackerKey.name], []);
    if (tracker) return knownHeadOf(tracker);
  }
  return undefined;
}

/** Counts events and resolutions, which are never removed, so the tracker with the higher count is newer. */
function settledSteps(tracker: VersionTracker | undefined): number {
  const events = tracker?.drift_events ?? [];
  return events.length + events.filter(({ resolution }) => resolution !== undefined).length;
}

/** Returns whether the current upstream state is resolved. A restart resolves the work before it. */
export function isSettled(known: VersionTracker | undefined, { upstreamHead = "" }: DriftReport): boolean {
  const resolution = lastAbout(known, upstreamHead)?.resolution;
  return resolution !== undefined && resolution !== "task_restarted";
}

function lastAbout(known: VersionTracker | undefined, upstreamHead: string): DriftEvent | undefined {
  return known?.drift_events.findLast(({ details }) => details.new_head === upstreamHead);
}

function settled(event: DriftEvent, upstreamHead: string, resolution: DriftResolution): DriftEvent {
  return event.details.new_head === upstreamHead && event.resolution === undefined ? { ...event, resolution } : event;
}

function newEvents(
  known: VersionTracker | undefined,
  report: DriftReport,
  { at, earlierHead }: { readonly at: string; readonly earlierHead?: string | undefined },
): readonly DriftEvent[] {
  const changes = [...upstreamChange(known, report, earlierHead), ...localChange(known, report)];
  return changes.map((change) => ({ detected_at: at, ...change }));
}

function upstreamChange(
  known: VersionTracker | undefined,
  { upstreamHead = "", commitsBehind, conflictingFiles, rewritten }: DriftReport,
  earlierHead: string | undefined,
): readonly Omit<DriftEvent, "detected_at">[] {
  const oldHead = known ? known.upstream_head : earlierHead;
  const heads = { ...(oldHead !== undefined && { old_head: oldHead }), new_head: upstreamHead };
  const last = lastAbout(known, upstreamHead);
  const isNew = known?.upstream_head !== upstreamHead || last?.resolution === "task_restarted";
  // Unrelated histories remain unrelated, so each push is reported once.
  if (rewritten) return isNew || last === undefined ? [{ type: "force_push", details: heads }] : [];
  if (!isNew || commitsBehind === 0) return [];
  const details = { commits_behind: commitsBehind, conflicting_files: conflictingFiles, ...heads };
  return [{ type: "upstream_change", details }];
}

function localChange(
  known: VersionTracker | undefined,
  { localFiles }: DriftReport,
): readonly Omit<DriftEvent, "detected_at">[] {
  const last = known?.drift_events.findLast(({ type }) => type === "local_change")?.details.conflicting_files;
  if (localFiles.length === 0 || last?.join("\n") === localFiles.join("\n")) return [];
  return [{ type: "local_change", details: { conflicting_files: localFiles } }];
}
