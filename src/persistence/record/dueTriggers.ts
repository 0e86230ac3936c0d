import type { CheckpointTrigger, TriggerMoment, TriggerPriority } from "../config/triggers.ts";

const rank: Readonly<Record<TriggerPriority, number>> = { critical: 0, high: 1, normal: 2 };

/**
 * Decides which trigger makes a checkpoint. Evaluates each trigger once. `due` is the first due trigger with the
 * highest priority, and the checkpoint gets the name of this trigger. `merged` are the other due triggers. A trigger
 * that throws counts as due, because an extra checkpoint is better than a missing checkpoint.
 */
export function dueTriggers(triggers: readonly CheckpointTrigger[], moment: TriggerMoment) {
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
