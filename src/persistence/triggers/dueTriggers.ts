import type { CheckpointTrigger, TriggerMoment, TriggerPriority } from "./CheckpointTrigger.ts";

/** What the triggers of an agent say of one moment. */
export interface DueTriggers {
  /** The one that the checkpoint is named after: the first of the highest priority; `undefined` when none is due. */
  readonly due: CheckpointTrigger | undefined;
  /** Due as well: one checkpoint does for all. */
  readonly merged: readonly CheckpointTrigger[];
  readonly unchanged: readonly CheckpointTrigger[];
  /** Threw. They count as due: a checkpoint too many is better than one too few. */
  readonly failed: readonly { readonly trigger: CheckpointTrigger; readonly error: unknown }[];
}

const rank: Readonly<Record<TriggerPriority, number>> = { critical: 0, high: 1, normal: 2 };

/** Asks every trigger once. */
export function dueTriggers(triggers: readonly CheckpointTrigger[], moment: TriggerMoment): DueTriggers {
  const failed: { readonly trigger: CheckpointTrigger; readonly error: unknown }[] = [];
  const merged: CheckpointTrigger[] = [];
  const unchanged: CheckpointTrigger[] = [];
  for (const trigger of triggers) {
    try {
      const verdict = trigger.isDue(moment);
      if (verdict === true) merged.push(trigger);
      if (verdict === "unchanged") unchanged.push(trigger);
    } catch (error) {
      failed.push({ trigger, error });
      merged.push(trigger);
    }
  }
  if (merged.length > 1) merged.sort((a, b) => rank[a.priority] - rank[b.priority]);
  return { due: merged.shift(), merged, unchanged, failed };
}
