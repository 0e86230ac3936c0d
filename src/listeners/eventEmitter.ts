import { LinePaths } from "../checkpoint/data/linePath.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { AnswerRecord } from "../checkpoint/records/callRecords.ts";
import type { RunRecord } from "../checkpoint/records/runRecords.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { CheckpointRecord } from "../checkpoint/records/lineRecords.ts";
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
  EventLine,
  ListenerErrorHandler,
  PersistenceEvent,
  PersistenceListener,
} from "./PersistenceEvent.ts";

/** Adds the current time to an event and passes it to the listener, without awaiting it or throwing its errors. */
export type EmitEvent = (event: EventBody) => void;

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
    // TypeScript cannot infer that each type of event stays valid with `at`.
    const timed = { ...event, at: new Date(clock.now()).toISOString() } as PersistenceEvent;
    // Ignores errors of the error handler.
    notify(timed).catch(() => {});
  };
}

function warnOfListener(error: unknown, { type, agentId }: PersistenceEvent): void {
  warn("listener_failed", `The listener failed on ${type} of agent ${JSON.stringify(agentId)}: ${reasonOf(error)}`);
}

export function emitOpened({ agentId, tornTail, rebuilt }: Journal, emit: EmitEvent): void {
  if (tornTail) emit({ type: "log_torn_tail", agentId, tornTail });
  if (rebuilt) emit({ type: "summary_rebuilt", agentId, file: rebuilt.file });
}

export function emitAppended(agentId: string, emit: EmitEvent): NonNullable<JournalOptions["listener"]> {
  return (generation, index) => {
    const appended = new AppendedRecords(agentId, generation, index);
    return (records) => {
      const changes: StatusChange[] = [];
      for (const [at, record] of records.entries()) {
        changes.push(...appended.statusAfter(record, records[at + 1]));
        const event = appended.eventOf(record);
        if (event) emit(event);
      }
      for (const change of changes) emit(change);
    };
  };
}

/** Finds the run and the branch or sub-agent of appended records, because not every record contains them. */
class AppendedRecords {
  readonly #agentId: string;
  readonly #generation: number;
  readonly #paths: LinePaths;
  #state: StatusState;
  #told: string | undefined;
  #runId: string;
  /** Maps the run, or the number of a branch or sub-agent, to the reason of its first checkpoint. Empty after that. */
  readonly #starting = new Map<number | "run", string>();

  constructor(agentId: string, generation: number, index: LogProjection) {
    this.#agentId = agentId;
    this.#generation = generation;
    this.#paths = new LinePaths(index);
    this.#state = index.statusState;
    this.#told = index.statusState.current?.status;
    this.#runId = index.run?.run ?? "";
    if (index.unfinished && index.latest?.runId !== this.#runId) this.#starting.set("run", "run_started");
  }

  /** Returns the events for the status change that a record causes, unless they were already emitted. */
  statusAfter(record: AgentRecord, next: AgentRecord | undefined): readonly StatusChange[] {
    this.#state = statusAfter(this.#state, record, this.#generation);
    const changes = isQueued(record, next) ? [] : statusChange(this.#agentId, this.#told, this.#state);
    this.#told = changes.at(-1)?.status ?? this.#told;
    return changes;
  }

  eventOf(record: AgentRecord): EventBody | undefined {
    this.#paths.add(record);
    if (record.kind === "run") this.#beginRun(record);
    else if (record.kind === "lane" && record.place && record.from === undefined)
      this.#starting.set(record.lane, "line_started");
    else if (record.kind === "answer")
      return { type: "model_answered", ...this.#origin(record.lane), ...answerFacts(record) };
    else if (record.kind === "checkpoint") return this.#saved(record);
    return undefined;
  }

  #beginRun({ run }: RunRecord): void {
    this.#runId = run;
    this.#starting.set("run", "run_started");
  }

  #saved(record: CheckpointRecord): EventBody {
    const checkpoint = eventCheckpoint(record.id ?? `${this.#generation}-${record.version}`, record);
    const line = this.#starting.has(record.lane) ? record.lane : "run";
    const trigger = triggerOf(record, this.#starting.get(line));
    this.#starting.delete(line);
    return { type: "checkpoint_saved", ...this.#origin(record.lane), trigger, ...checkpoint };
  }

  #origin(lane: number) {
    return { agentId: this.#agentId, runId: this.#runId, ...eventLine(this.#paths.of(lane)) };
  }
}

type StatusChange = Extract<EventBody, { readonly type: "status_changed" }>;

function statusChange(agentId: string, previous: string | undefined, state: StatusState): readonly StatusChange[] {
  const { current, run } = state;
  if (!current || !run || current.status === previous) return [];
  const data = stateDataOf(agentId, state);
  const change = { type: "status_changed", agentId, runId: run.run, status: current.status, data } as const;
  return [previous === undefined ? change : { ...change, previous }];
}

/** Returns whether a record queues a run. The next record then sets the status `queued`. */
function isQueued(record: AgentRecord, next: AgentRecord | undefined): boolean {
  return record.kind === "run" && next?.kind === "status" && next.status === "queued";
}

export function eventLine({
  branch,
  agentPath,
}: {
  readonly branch?: string | undefined;
  readonly agentPath: readonly string[];
}): EventLine {
  return { ...(branch !== undefined && { branch }), ...(agentPath.length > 0 && { agentPath }) };
}

function answerFacts({ node: nodeId, usage, finish: finishReason }: AnswerRecord) {
  return withoutUndefined({ nodeId, usage, finishReason });
}

export function eventCheckpoint(
  checkpointId: string,
  { version, node, iteration, progress, summary }: CheckpointRecord,
): EventCheckpoint {
  return withoutUndefined({ checkpointId, version, nodeId: node, iteration, progress, progressSummary: summary });
}

/** Returns the reason for a checkpoint. @param started The reason if it is the first checkpoint. */
export function triggerOf(
  { trigger, move, status, ended, joined, unresolved }: CheckpointRecord,
  started: string | undefined,
): string {
  const recorded = trigger ?? move;
  if (recorded !== undefined) return recorded;
  if (status) return "run_ended";
  if (ended) return "line_ended";
  if (joined !== undefined) return "joined";
  return unresolved ? "unresolved" : (started ?? "after_node");
}
