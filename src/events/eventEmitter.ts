import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { AnswerRecord } from "../checkpoint/records/callRecords.ts";
import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import { statusAfter, type StatusState } from "../checkpoint/state/StatusState.ts";
import { stateDataOf } from "../checkpoint/state/stateDataOf.ts";
import type { Clock } from "../internal/Clock.ts";
import { reasonOf } from "../internal/reasonOf.ts";
import { warn } from "../internal/warn.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { Journal, JournalOptions } from "../journal/Journal.ts";
import type {
  EventBody,
  EventCheckpoint,
  ListenerErrorHandler,
  PersistenceEvent,
  PersistenceListener,
} from "./PersistenceEvent.ts";

/** Gives an event to the listener, with the time of this moment; the listener is not awaited and its errors go no further. */
export type EmitEvent = (event: EventBody) => void;

/** `undefined` without a listener. */
export function eventEmitter(
  clock: Clock,
  onEvent: PersistenceListener | undefined,
  onListenerError: ListenerErrorHandler = warnOfListener,
): EmitEvent | undefined {
  if (!onEvent) return undefined;
  const notify = async (event: PersistenceEvent) => {
    try {
      await onEvent(event);
    } catch (error) {
      await onListenerError(error, event);
    }
  };
  return (event) => {
    // The compiler does not combine the two for each kind.
    const timed = { ...event, at: new Date(clock.now()).toISOString() } as PersistenceEvent;
    // If the error handler fails as well, there is no one left to notify.
    notify(timed).catch(() => {});
  };
}

function warnOfListener(error: unknown, { kind, agentId }: PersistenceEvent): void {
  warn("listener_failed", `The listener failed on ${kind} of agent ${JSON.stringify(agentId)}: ${reasonOf(error)}`);
}

/** Emits what the opening of an agent's log has found. */
export function emitOpened({ agentId, tornTail, rebuilt }: Journal, emit: EmitEvent): void {
  if (tornTail) emit({ kind: "log_torn_tail", agentId, tornTail });
  if (rebuilt) emit({ kind: "summary_rebuilt", agentId, file: rebuilt.file });
}

/** Emits the events of a journal's durable appends. It tracks their run, which the record of a checkpoint does not name. */
export function emitAppended(agentId: string, emit: EmitEvent): NonNullable<JournalOptions["listener"]> {
  return (generation, index) => {
    let runId = index.run?.run ?? "";
    let state = index.statusState;
    let told: string | undefined = state.current?.status;
    /** True between the record of a run and its first checkpoint. */
    let starts = index.unfinished && index.latest?.runId !== index.run?.run;
    return (records) => {
      const changes: StatusChange[] = [];
      for (const [at, record] of records.entries()) {
        state = statusAfter(state, record, generation);
        if (!isQueued(record, records[at + 1])) changes.push(...statusChange(agentId, told, state));
        told = changes.at(-1)?.status ?? told;
        if (record.kind === "run") {
          runId = record.run;
          starts = true;
        }
        if (record.kind === "answer") emit({ kind: "model_answered", agentId, runId, ...answerFacts(record) });
        if (record.kind !== "checkpoint") continue;
        const checkpoint = eventCheckpoint(record.id ?? `${generation}-${record.version}`, record);
        emit({ kind: "checkpoint_saved", agentId, runId, trigger: triggerOf(record, starts), ...checkpoint });
        starts = false;
      }
      for (const change of changes) emit(change);
    };
  };
}

type StatusChange = Extract<EventBody, { readonly kind: "status_changed" }>;

/** The event of a status, unless it was told already. */
function statusChange(agentId: string, previous: string | undefined, state: StatusState): readonly StatusChange[] {
  const { current, run } = state;
  if (!current || !run || current.status === previous) return [];
  const data = stateDataOf(agentId, state);
  const change = { kind: "status_changed", agentId, runId: run.run, status: current.status, data } as const;
  return [previous === undefined ? change : { ...change, previous }];
}

/** Whether a run only begins later: the record after its own says so. */
function isQueued(record: AgentRecord, next: AgentRecord | undefined): boolean {
  return record.kind === "run" && next?.kind === "status" && next.status === "queued";
}

function answerFacts({ node: nodeId, usage, finish: finishReason }: AnswerRecord) {
  return withoutUndefined({ nodeId, usage, finishReason });
}

/** What events show of a checkpoint. */
export function eventCheckpoint(
  checkpointId: string,
  { version, node, iteration, progress, summary }: CheckpointRecord,
): EventCheckpoint {
  return {
    checkpointId,
    version,
    nodeId: node,
    iteration,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { progressSummary: summary }),
  };
}

/** Why a checkpoint was made: what its record says, or what follows from it. */
function triggerOf({ trigger, move, status, unresolved }: CheckpointRecord, starts: boolean): string {
  const recorded = trigger ?? move;
  if (recorded !== undefined) return recorded;
  if (status) return "run_ended";
  if (unresolved) return "unresolved";
  return starts ? "run_started" : "after_node";
}
