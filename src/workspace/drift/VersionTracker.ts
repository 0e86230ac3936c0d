import { z } from "zod";
import { storageKey, type StorageKey } from "../../agent/context/StorageKey.ts";
import type { DriftReport } from "./DriftReport.ts";

/** Something that others did while a task was at work, and what came of it. */
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
  /** Absent: nobody was asked. */
  readonly resolution?: DriftResolution;
}

/** How a drift was settled. */
export type DriftResolution = "ignored" | "rebased" | "task_restarted" | "user_handled";

/** Which versions a task has worked on. It is kept in the agent's storage, and so in its log and in each checkpoint. */
export interface VersionTracker {
  readonly task_id: string;
  /** The commit that was checked out when the task began; empty when there was none. */
  readonly started_at_commit: string;
  readonly current_head: string;
  /** As it was last fetched; empty when there was none. */
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

/** Where an agent's storage has it. */
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
 * The tracker after a check: heads as they are now, and what is new since the check before as events.
 *
 * @param about.resolution how somebody settled what the upstream has now. Absent: nobody was asked.
 */
export function trackVersions(
  known: VersionTracker | undefined,
  report: DriftReport,
  about: { readonly taskId: string; readonly at: string; readonly resolution?: DriftResolution },
): VersionTracker {
  const { head = "", upstreamHead = "" } = report;
  const events = [...(known?.drift_events ?? []), ...newEvents(known, report, about.at)];
  const { resolution } = about;
  return {
    task_id: about.taskId,
    started_at_commit: known?.started_at_commit ?? head,
    current_head: head,
    upstream_head: upstreamHead,
    drift_events: resolution === undefined ? events : events.map((event) => settled(event, upstreamHead, resolution)),
  };
}

/** The tracker after all that the upstream has changed, and that nobody settled before, is settled in one way. */
export function settleAll(tracker: VersionTracker, resolution: DriftResolution): VersionTracker {
  const events = tracker.drift_events.map((event) =>
    event.type === "local_change" || event.resolution !== undefined ? event : { ...event, resolution },
  );
  return { ...tracker, drift_events: events };
}

/** Whether somebody has settled what the upstream has now. A restart settles it for what the task did before. */
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
  { upstreamHead = "", commitsBehind, conflictingFiles, localFiles, rewritten }: DriftReport,
  at: string,
): readonly DriftEvent[] {
  const events: DriftEvent[] = [];
  const add = (type: DriftEvent["type"], details: DriftEvent["details"]): void =>
    void events.push({ detected_at: at, type, details });
  const heads = { ...(known && { old_head: known.upstream_head }), new_head: upstreamHead };
  const isNew =
    known?.upstream_head !== upstreamHead || lastAbout(known, upstreamHead)?.resolution === "task_restarted";
  if (rewritten) add("force_push", heads);
  else if (isNew && commitsBehind > 0)
    add("upstream_change", { commits_behind: commitsBehind, conflicting_files: conflictingFiles, ...heads });
  const last = known?.drift_events.findLast(({ type }) => type === "local_change")?.details.conflicting_files;
  if (localFiles.length > 0 && last?.join("\n") !== localFiles.join("\n"))
    add("local_change", { conflicting_files: localFiles });
  return events;
}
