import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { nodeInputOf, runOf, visitIn, visitOf } from "../../agent/feature/ContextBinding.ts";
import type { NextStep } from "../../agent/strategy/StrategyGraph.ts";
import { eventLine } from "../../listeners/eventEmitter.ts";
import type { PersistenceEvent } from "../../listeners/PersistenceEvent.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import {
  type CheckpointTrigger,
  isAfterNode,
  type SinceCheckpoint,
  type TriggerMoment,
  type TriggerPriority,
} from "../config/triggers.ts";
import type { RunRecorder } from "./RunRecorder.ts";

type Skipped = Pick<
  Extract<PersistenceEvent, { readonly type: "checkpoint_skipped" }>,
  "nodeId" | "trigger" | "reason"
>;
type Happened<Moment = TriggerMoment> = Moment extends TriggerMoment ? Omit<Moment, keyof SinceCheckpoint> : never;

/** Returns the trigger of a due checkpoint between two nodes. `undefined` if the next node has records to replay. */
export function dueBetween(
  recorder: RunRecorder,
  happened: Extract<Happened, { readonly kind: "node_completed" }>,
  run: AgentRun,
  next: NextStep,
): CheckpointTrigger | undefined {
  const due = dueTrigger(recorder, happened, run, next);
  if (!due || !recorder.recording?.reaches(run)) return due;
  tellSkipped(recorder, run, { nodeId: happened.nodeId, trigger: due.name, reason: "replaying" });
  return undefined;
}

/** Returns the trigger that is due, and emits events about the others. Within a node, `next` is omitted. */
function dueTrigger(
  recorder: RunRecorder,
  happened: Happened,
  run: AgentRun,
  next?: NextStep,
): CheckpointTrigger | undefined {
  const { setup } = recorder;
  if (setup.triggers.length === 0) return undefined;
  const moment = Object.assign(sinceCheckpoint(recorder, run, next), happened) as TriggerMoment;
  const { due, merged, unchanged, failed } = dueTriggers(setup.triggers, moment);
  const { nodeId } = happened;
  for (const { trigger, error } of failed)
    setup.tell({
      type: "trigger_failed",
      ...originOf(recorder, run, nodeId),
      trigger: trigger.name,
      reason: reasonOf(error),
    });
  for (const { name: trigger } of merged) tellSkipped(recorder, run, { nodeId, trigger, reason: "merged" });
  for (const { name: trigger } of unchanged) tellSkipped(recorder, run, { nodeId, trigger, reason: "unchanged" });
  return due;
}

function tellSkipped(recorder: RunRecorder, run: AgentRun, { nodeId, ...skipped }: Skipped): void {
  recorder.setup.tell({ type: "checkpoint_skipped", ...originOf(recorder, run, nodeId), ...skipped });
}

function originOf({ journal: { agentId } }: RunRecorder, run: AgentRun, nodeId: string) {
  return { agentId, runId: run.runId, ...eventLine(run), nodeId };
}

/** Makes a due checkpoint in a node. Resolves when the run may continue. A resume repeats the node. */
export async function saveIfDue(recorder: RunRecorder, context: AgentContext, happened: Happened): Promise<void> {
  const { setup } = recorder;
  // Runs for each tool call, and `afterNode` is never due in a node.
  if (recorder.closed || setup.triggers.every(({ isDue }) => isDue === isAfterNode)) return;
  const run = runOf(context);
  const trigger = dueTrigger(recorder, happened, run);
  if (!trigger) return;
  const { nodeId } = happened;
  if (recorder.savedWithin) {
    // The log already contains a later state, from which a resume continues.
    return tellSkipped(recorder, run, { nodeId, trigger: trigger.name, reason: "superseded" });
  }
  const plan = { node: nodeId, input: nodeInputOf(context), trigger: trigger.name };
  const saved = recorder.saveBeginning(run, visitIn(visitOf(context)), plan);
  if (trigger.priority !== "normal") await saved;
  // If the write fails, the next append rejects with the same error.
  else saved.catch(() => undefined);
}

function sinceCheckpoint(
  recorder: RunRecorder,
  { state }: AgentRun,
  next: Pick<NextStep, "nodeId" | "input"> | undefined,
): SinceCheckpoint {
  const { setup, saved } = recorder;
  const moved = next ? !recorder.isForeseen(next) : saved.left;
  const isStored = !moved || next === undefined || state.history.numberOf(next.input) !== undefined;
  const changed =
    moved ||
    recorder.grownBytes > 0 ||
    (next !== undefined && recorder.newBytes(state) > 0) ||
    state.progress !== saved.progress ||
    state.progressSummary !== saved.progressSummary;
  return {
    elapsedMs: setup.clock.monotonic() - saved.at,
    changed,
    // A getter, because measuring the size is slow and only some triggers need it.
    get grownBytes() {
      const unsaved = next === undefined ? 0 : recorder.newBytes(state);
      return recorder.grownBytes + unsaved + (isStored ? 0 : roughBytes(next.input));
    },
  };
}

function roughBytes(value: unknown): number {
  const open: unknown[] = [value];
  let sum = 0;
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === "string") sum += part.length + 2;
    else if (typeof part !== "object" || part === null) sum += 6;
    else if (ArrayBuffer.isView(part)) sum += Math.ceil((part.byteLength * 4) / 3);
    else for (const item of partsOf(part)) open.push(item);
  }
  return sum;
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (value instanceof Map || value instanceof Set) return [...value].flat();
  return Object.entries(value).flat();
}

const rank: Readonly<Record<TriggerPriority, number>> = { critical: 0, high: 1, normal: 2 };

/**
 * Decides which trigger makes a checkpoint. `due` is the first due trigger with the highest priority, and `merged`
 * contains the others. A trigger that throws counts as due, because an extra checkpoint is better than a missing one.
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
  merged.sort((a, b) => rank[a.priority] - rank[b.priority]);
  return { due: merged.shift(), merged, unchanged, failed };
}
