import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { NextStep } from "../../agent/strategy/NextStep.ts";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { nodeInputOf, runOf, visitOf } from "../../agent/feature/ContextBinding.ts";
import { eventLine } from "../../events/eventEmitter.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { CheckpointTrigger, SinceCheckpoint, TriggerMoment } from "../triggers/CheckpointTrigger.ts";
import { dueTriggers } from "../triggers/dueTriggers.ts";
import type { RunRecorder } from "./RunRecorder.ts";
import { sinceCheckpoint } from "./sinceCheckpoint.ts";

type Happened<Moment = TriggerMoment> = Moment extends TriggerMoment ? Omit<Moment, keyof SinceCheckpoint> : never;

/**
 * The trigger that a checkpoint is due by; `undefined` when none is. The other triggers' outcomes are emitted as events.
 *
 * @param next between two nodes: what comes next; absent within a node.
 */
export function dueTrigger(
  recorder: RunRecorder,
  happened: Happened,
  run: AgentRun,
  next?: NextStep,
): CheckpointTrigger | undefined {
  const { setup } = recorder;
  if (setup.triggers.length === 0) return undefined;
  // The compiler does not see that each kind of moment gets both parts.
  const moment = Object.assign(sinceCheckpoint(recorder, run, next), happened) as TriggerMoment;
  const { due, merged, unchanged, failed } = dueTriggers(setup.triggers, moment);
  const { nodeId } = happened;
  const origin = originOf(recorder, run, nodeId);
  for (const { trigger, error } of failed)
    setup.tell({ kind: "trigger_failed", ...origin, trigger: trigger.name, reason: reasonOf(error) });
  for (const { name } of merged) setup.tell({ kind: "checkpoint_skipped", ...origin, trigger: name, reason: "merged" });
  for (const { name } of unchanged)
    setup.tell({ kind: "checkpoint_skipped", ...origin, trigger: name, reason: "unchanged" });
  return due;
}

function originOf({ journal: { agentId } }: RunRecorder, run: AgentRun, nodeId: string) {
  return { agentId, runId: run.runId, ...eventLine(run), nodeId };
}

/**
 * Makes the checkpoint that is due in the middle of a node: it says that the node runs next, with its input; what was
 * recorded since is replayed. When it resolves, the run may continue.
 */
export async function saveIfDue(recorder: RunRecorder, context: AgentContext, happened: Happened): Promise<void> {
  const { setup } = recorder;
  if (setup.triggers.length === 0 || recorder.closed) return;
  const run = runOf(context);
  const trigger = dueTrigger(recorder, happened, run);
  if (!trigger) return;
  const { nodeId } = happened;
  if (recorder.savedWithin) {
    // The log has a checkpoint of a later state: a resume after a crash continues from that one.
    const origin = originOf(recorder, run, nodeId);
    setup.tell({ kind: "checkpoint_skipped", ...origin, trigger: trigger.name, reason: "superseded" });
    return;
  }
  const { base, ordinal } = visitOf(context);
  const plan = { node: nodeId, input: nodeInputOf(context), trigger: trigger.name };
  const saved = recorder.saveBeginning(run, [base, ordinal], plan);
  if (trigger.priority !== "normal") await saved;
  // A failure to store it meets whatever is stored next.
  else saved.catch(() => undefined);
}
