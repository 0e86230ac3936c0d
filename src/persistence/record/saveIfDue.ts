import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { NextStep } from "../../agent/strategy/NextStep.ts";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { nodeInputOf, runOf, visitOf } from "../../agent/feature/ContextBinding.ts";
import { eventLine } from "../../events/eventEmitter.ts";
import type { PersistenceEvent } from "../../events/PersistenceEvent.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { CheckpointTrigger, SinceCheckpoint, TriggerMoment } from "../triggers/CheckpointTrigger.ts";
import { dueTriggers } from "../triggers/dueTriggers.ts";
import type { RunRecorder } from "./RunRecorder.ts";
import { sinceCheckpoint } from "./sinceCheckpoint.ts";

type Skipped = Pick<
  Extract<PersistenceEvent, { readonly type: "checkpoint_skipped" }>,
  "nodeId" | "trigger" | "reason"
>;
type Happened<Moment = TriggerMoment> = Moment extends TriggerMoment ? Omit<Moment, keyof SinceCheckpoint> : never;

/**
 * The trigger that a checkpoint between two nodes is due by; `undefined` when none is made. Visits are counted from a
 * checkpoint: made before a node of which something is recorded, it would hide that from the node.
 */
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

/**
 * The trigger that a checkpoint is due by; `undefined` when none is. The other triggers' outcomes are emitted as events.
 *
 * @param next between two nodes: what comes next; absent within a node.
 */
function dueTrigger(
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
    setup.tell({ type: "trigger_failed", ...origin, trigger: trigger.name, reason: reasonOf(error) });
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
    return tellSkipped(recorder, run, { nodeId, trigger: trigger.name, reason: "superseded" });
  }
  const { base, ordinal } = visitOf(context);
  const plan = { node: nodeId, input: nodeInputOf(context), trigger: trigger.name };
  const saved = recorder.saveBeginning(run, [base, ordinal], plan);
  if (trigger.priority !== "normal") await saved;
  // A failure to store it meets whatever is stored next.
  else saved.catch(() => undefined);
}
