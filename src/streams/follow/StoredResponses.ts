import { LinePaths } from "../../checkpoint/data/linePath.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { originOf } from "../../checkpoint/records/lineRecords.ts";
import type { SnapshotRecord } from "../../checkpoint/records/SnapshotRecord.ts";
import { validateRecord } from "../../checkpoint/format/validateRecord.ts";
import { pruningIn } from "../../checkpoint/pruning/liveEntries.ts";
import { addValueReferences } from "../../checkpoint/records/blobReferences.ts";
import type { AnswerRecord } from "../../checkpoint/records/callRecords.ts";
import { answerKey } from "../../checkpoint/records/Visit.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { initialStatus, statusAfter, statusAtSnapshot, type StatusState } from "../../checkpoint/state/StatusState.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { readAdded, readPaced } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { TextKind } from "./StreamCursor.ts";

/** A run that starts, or a complete response, in the order of the log. */
export interface LogItem {
  readonly at: readonly [position: number, items: number];
  /** `undefined` for the start of a run. */
  readonly response?: StoredResponse;
  /** The id of a run that starts. */
  readonly run?: string;
}

export interface StoredResponse {
  readonly requestId: string;
  readonly nodeId: string;
  readonly branch?: string;
  readonly agentPath?: readonly string[];
  readonly texts: Readonly<Record<TextKind, string>>;
}

/** Reads the complete responses of an agent from its log, without owning the agent. */
export class StoredResponses {
  /** The items of the newest run and, if the log was read from an earlier place, of the runs after that place. */
  readonly items: LogItem[] = [];
  /** The generation of the newest append. */
  generation = 0;
  /** The ids of all runs. */
  readonly runs = new Set<string>();
  /** The request ids of the responses. */
  readonly #answered = new Set<string>();
  readonly #log: RecordLog;
  readonly #agentId: string;
  #paths = new LinePaths(new LogProjection());
  #position = 0;
  #status: StatusState = initialStatus;
  /** The snapshot at which reading started. `undefined` if the whole log was read. */
  #start: SnapshotRecord | undefined;

  constructor(log: RecordLog, agentId: string) {
    this.#log = log;
    this.#agentId = agentId;
  }

  /** Whether a run is in progress or interrupted by a crash, or a task is queued. */
  get isInProgress(): boolean {
    return ["in_progress", "queued"].includes(this.#status.current?.status ?? "");
  }

  /** The id of the run in progress. `undefined` for a queued task. */
  get runInProgress(): string | undefined {
    return this.#status.current?.status === "in_progress" ? this.newestRun : undefined;
  }

  /** The id of the newest run. */
  get newestRun(): string | undefined {
    return this.#status.run?.run;
  }

  /** The start of the newest run. */
  get runStart(): LogItem["at"] {
    return this.items.findLast(({ response }) => !response)?.at ?? [0, 0];
  }

  /**
   * Whether the log has the response to a request. If reading started at a snapshot, the result is also true for
   * requests of earlier visits, of which a store has at most late chunks.
   */
  isAnswered(requestId: string): boolean {
    if (this.#answered.has(requestId)) return true;
    const base = Number.parseInt(requestId, 10);
    return (
      this.#start !== undefined && (base < 0 ? -base < this.#start.nextLane : base < this.#start.checkpoint.version)
    );
  }

  /**
   * Reads the appends since the last call. The first call reads from position `after`, which defaults to the start of
   * the newest run, or from the newest snapshot if the client needs no earlier append.
   *
   * @returns whether the log has new appends
   * @throws CorruptLogError, UnreadableValueError
   */
  async read(after?: number): Promise<boolean> {
    const first = this.#position === 0 ? await this.#readRecent(after) : undefined;
    let entries = first ?? (await readAdded(this.#log, this.#agentId, this.#position));
    const start = this.#start;
    if (start && entries.some((entry) => returnsBefore(start, entry))) {
      this.#start = undefined;
      this.#paths = new LinePaths(new LogProjection());
      this.#status = initialStatus;
      this.items.length = 0;
      entries = await readAdded(this.#log, this.#agentId, 0);
    }
    if (entries.length === 0) return false;
    const values = await this.#valuesIn(entries);
    for (const entry of entries) this.#add(entry, values);
    this.#position = entries.at(-1)?.position ?? this.#position;
    this.generation = entries.at(-1)?.generation ?? this.generation;
    return true;
  }

  /** Returns `undefined` if the whole log must be read. */
  async #readRecent(after: number | undefined): Promise<readonly Entry[] | undefined> {
    const entries = await readPaced(this.#log, this.#agentId, { sinceSnapshot: true });
    const records = entries.flatMap((entry) => entry.records as readonly AgentRecord[]);
    const snapshot = entries[0]?.records.find((record): record is SnapshotRecord => record.kind === "snapshot");
    const reaches =
      after === undefined ? records.some(({ kind }) => kind === "run") : after > (entries[0]?.position ?? 0);
    // A snapshot with `nextVersion` can be from within a visit.
    if (!snapshot || snapshot.since || snapshot.nextVersion !== undefined || snapshot.checkpoint.visit)
      return undefined;
    if (!reaches || pruningIn(entries)) return undefined;
    if (entries.some((entry) => validateRecord(entry) !== undefined)) return undefined;
    this.#start = snapshot;
    return entries;
  }

  #valuesIn(entries: readonly Entry[]): Promise<AgentLog> {
    const references = new Map<string, BlobCell>();
    for (const { records } of entries)
      for (const record of records as readonly AgentRecord[])
        if (record.kind === "answer") addValueReferences(record, references);
    return AgentLog.ofValues(this.#log, this.#agentId, references);
  }

  #add({ position, generation, records }: Entry, values: AgentLog): void {
    let items = 0;
    for (const record of records as readonly AgentRecord[]) {
      this.#track(record, generation);
      if (record.kind === "run") this.items.push({ at: [position, ++items], run: record.run });
      if (record.kind !== "answer") continue;
      const response = this.#responseOf(record, values);
      this.#answered.add(response.requestId);
      this.items.push({ at: [position, ++items], response });
    }
  }

  #track(record: AgentRecord, generation: number): void {
    this.#paths.add(record.kind === "snapshot" ? record.checkpoint : record);
    if (record.kind === "run" || record.kind === "ended") this.runs.add(record.run);
    if (record.kind === "snapshot")
      for (const run of [record.run.run, ...Object.keys(record.runs), ...record.cancelled]) this.runs.add(run);
    this.#status =
      record.kind === "snapshot" ? statusAtSnapshot(record) : statusAfter(this.#status, record, generation);
  }

  #responseOf({ visit, ordinal, within, node, lane, message }: AnswerRecord, values: AgentLog): StoredResponse {
    const { branch, agentPath } = this.#paths.of(lane);
    const { content } = values.readValue(message) as AssistantMessage;
    const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
    const textOf = (kind: TextKind) => parts.map((part) => (part.type === kind ? part.text : "")).join("");
    return {
      requestId: answerKey(visit, ordinal, within),
      nodeId: node,
      ...(branch !== undefined && { branch }),
      ...(agentPath.length > 0 && { agentPath }),
      texts: { text: textOf("text"), reasoning: textOf("reasoning") },
    };
  }
}

/** Returns whether an append moves the agent to a checkpoint before a snapshot, so that its requests are repeated. */
function returnsBefore(snapshot: SnapshotRecord, { records }: Entry): boolean {
  const { version } = snapshot.checkpoint;
  // A snapshot includes the other records of its append.
  if (records.includes(snapshot)) return false;
  return (records as readonly AgentRecord[]).some(
    (record) => record.kind === "lane" && (originOf(record) ?? version) < version,
  );
}
