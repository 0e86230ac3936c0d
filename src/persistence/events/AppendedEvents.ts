import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import type { EventCheckpoint, EventBody } from "./PersistenceEvent.ts";

/** What the appends of one journal tell. It follows which run they are about, which a checkpoint's record does not say. */
export class AppendedEvents {
  readonly #agentId: string;
  readonly #generation: number;
  #runId: string;
  #status: string | undefined;
  /** True between the record of a run and its first checkpoint. */
  #starts: boolean;

  constructor(agentId: string, generation: number, index: LogProjection) {
    this.#agentId = agentId;
    this.#generation = generation;
    this.#runId = index.run?.run ?? "";
    this.#status = index.statusState.current?.status;
    this.#starts = index.unfinished && index.latest?.runId !== index.run?.run;
  }

  /** The events of an append that is durable. */
  of(records: readonly AgentRecord[], summary: AgentSummary | undefined): EventBody[] {
    const events = records.flatMap((record) => this.#eventOf(record));
    return summary ? [...events, ...this.#statusEvent(summary)] : events;
  }

  #eventOf(record: AgentRecord): EventBody[] {
    if (record.kind === "run") {
      this.#runId = record.run;
      this.#starts = true;
    }
    if (record.kind !== "checkpoint") return [];
    const trigger = triggerOf(record, this.#starts);
    this.#starts = false;
    const checkpointId = record.id ?? `${this.#generation}-${record.version}`;
    return [{ kind: "checkpoint_saved", ...this.#origin, trigger, ...eventCheckpoint(checkpointId, record) }];
  }

  #statusEvent(summary: AgentSummary): EventBody[] {
    const previous = this.#status;
    const { status, data } = summary;
    this.#status = status;
    if (status === previous) return [];
    const { agentId, runId } = this.#origin;
    const from = previous === undefined ? {} : { previous };
    return [{ kind: "status_changed", agentId, runId: summary.runId ?? runId, status, ...from, data }];
  }

  get #origin() {
    return { agentId: this.#agentId, runId: this.#runId };
  }
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

/** Why a checkpoint was made: as its record says, or as follows from it. */
function triggerOf({ trigger, move, status, unresolved }: CheckpointRecord, starts: boolean): string {
  const told = trigger ?? move;
  if (told !== undefined) return told;
  if (status) return "run_ended";
  if (unresolved) return "unresolved";
  return starts ? "run_started" : "after_node";
}
