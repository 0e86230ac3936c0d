import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { addValueReferences } from "../../checkpoint/records/blobReferences.ts";
import type { AnswerRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { isRefusal, type ReplyRecord, type RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { RunRecord, StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { answerKey, type Visit } from "../../checkpoint/records/Visit.ts";
import { type AgentState, emptyState } from "../../checkpoint/state/AgentState.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { fetchBlobs } from "../../storage/blobs.ts";
import { readAdded } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { toolCallsIn, type ToolCallPart } from "./responseMessage.ts";
import { RequestNotOpenError } from "../../errors/requestErrors.ts";

interface AskedRequest {
  readonly record: RequestRecord;
  readonly reply?: ReplyRecord;
}

/** Reads the records of a run with one node from the log, without owning the agent. */
export class RunRecords {
  readonly #log: RecordLog;
  readonly #runId: string | undefined;
  #values: AgentLog;
  #state: AgentState | undefined;
  #requests: ReadonlyMap<string, AskedRequest> | undefined;

  /** @param runId - defaults to the newest run. */
  constructor(
    log: RecordLog,
    readonly agentId: string,
    runId?: string,
  ) {
    this.#log = log;
    this.#runId = runId;
    this.#values = new AgentLog(agentId, new LogProjection(), new Map());
  }

  get exists(): boolean {
    return this.#run !== undefined;
  }

  /** @throws UnreadableValueError if the log does not contain the run */
  get runId(): string {
    return this.#found.run;
  }

  /** @throws UnreadableValueError if the log does not contain the run */
  get input(): unknown {
    return this.readValue(this.#found.input);
  }

  get status(): TaskStatus {
    return this.#status?.status ?? (this.#index.cancelled.has(this.runId) ? "cancelled" : "completed");
  }

  get error(): StatusRecord["error"] {
    return this.#status?.record?.error;
  }

  /** The node execution of the newest response. `undefined` without responses. */
  get visit(): Visit | undefined {
    return [...this.#line.answers.values()].toSorted((a, b) => a.order - b.order).at(-1)?.visit;
  }

  /** The lanes of the run, newest first. Each rollback or move starts a lane. A call can belong to any lane. */
  get lines(): readonly RunLine[] {
    const { runId, agentId } = this;
    return this.#lanes.toReversed().map((lane) => ({ agentId, runId, lane }));
  }

  /**
   * Reads the new records. The first read starts at the newest snapshot if this contains the start of the run.
   *
   * @returns whether the log had new records
   * @throws CorruptLogError, UnreadableValueError
   */
  async read(): Promise<boolean> {
    const { position } = this.#index;
    if (position > 0) await this.#readAdded();
    else await this.#readFirst();
    this.#state = undefined;
    this.#requests = undefined;
    return this.#index.position > position;
  }

  async #readFirst(): Promise<void> {
    const isEnough = ({ index }: AgentLog) => this.#hasWholeRun(index);
    this.#values = await AgentLog.readRecent(this.#log, this.agentId, isEnough, hasNeededValues);
  }

  async #readAdded(): Promise<void> {
    const entries = await readAdded(this.#log, this.agentId, this.#index.position);
    const references = new Map<string, BlobCell>();
    for (const record of entries.flatMap(({ records }) => records as readonly AgentRecord[]))
      if (hasNeededValues(record)) addValueReferences(record, references);
    const blobs = await fetchBlobs(this.#log, this.agentId, references);
    for (const entry of entries) this.#index.add(entry);
    if (blobs.size > 0)
      this.#values = new AgentLog(this.agentId, this.#index, new Map([...this.#values.blobs, ...blobs]));
    // A rollback possibly returned to an earlier run.
    if (!this.#hasWholeRun(this.#index))
      this.#values = await AgentLog.read(this.#log, this.agentId, {}, hasNeededValues);
  }

  /** Returns whether an index that starts at a snapshot has all records of the run. */
  #hasWholeRun(index: LogProjection): boolean {
    const { base, run } = index;
    if (!base) return true;
    if (!run || index.needsWhole || run.run !== (this.#runId ?? run.run)) return false;
    const { runId, answers, calls, requests } = base.state;
    const isNew = runId !== run.run || answers.size + calls.size + requests.size === 0;
    return isNew && foldLine(index, lanesOf(index, run.run).at(-1) ?? -1) !== undefined;
  }

  readValue(slot: StoredValue): unknown {
    return this.#values.readValue(slot);
  }

  /** Returns the newest response with this number that was requested outside of tool calls. */
  answer(ordinal: number): AnswerRecord | undefined {
    const { visit } = this;
    return visit && this.#line.answers.get(answerKey(visit, ordinal));
  }

  /** Returns the recorded outcome of a call that has one of these ids. The first id with an outcome counts. */
  outcome(ids: readonly string[]): OutcomeRecord | undefined {
    return ids.map((id) => this.#line.calls.get(id)?.outcome).find((outcome) => outcome !== undefined);
  }

  get calls(): readonly ToolCallPart[] {
    const messages = [...this.#line.answers.values()].map(({ message }) => this.readValue(message));
    return messages.flatMap((message) => toolCallsIn(message as AssistantMessage).map(({ part }) => part));
  }

  /** Returns the newest request for the approval of one of these calls, even if a rollback dropped it. */
  request(...calls: readonly string[]): AskedRequest | undefined {
    this.#requests ??= this.#readRequests();
    return [...this.#requests.values()].findLast(
      ({ record: { approval } }) => approval && calls.includes(approval.call),
    );
  }

  /** Returns the library's id of a call that has this id of the provider. */
  callOfProvider(id: string): string | undefined {
    return this.calls.find(({ providerToolCallId }) => providerToolCallId === id)?.toolCallId;
  }

  /** Returns whether the run has a call with this id of the library. */
  hasCall(id: string): boolean {
    const isRecorded = this.outcome([id]) !== undefined || this.request(id) !== undefined;
    return isRecorded || this.calls.some(({ toolCallId }) => toolCallId === id);
  }

  #readRequests(): ReadonlyMap<string, AskedRequest> {
    const requests = new Map<string, AskedRequest>();
    for (const { record } of this.#lanes.flatMap((lane) => this.#index.laneRecords.get(lane) ?? [])) {
      if (record.kind === "request") requests.set(record.request, { record });
      const asked = record.kind === "reply" ? requests.get(record.request) : undefined;
      if (asked && record.kind === "reply") requests.set(record.request, { ...asked, reply: record });
    }
    return requests;
  }

  get #run(): RunRecord | undefined {
    const { run, runRecords } = this.#index;
    return this.#runId === undefined ? run : runRecords.get(this.#runId);
  }

  get #found(): RunRecord {
    const run = this.#run;
    if (run) return run;
    const name = this.#runId === undefined ? "a run" : `run ${this.#runId}`;
    throw new UnreadableValueError(`the records of ${name} are not in the log of agent "${this.agentId}"`);
  }

  /** The current status of the run. `undefined` for an earlier run, which has finished. */
  get #status(): StatusState["current"] {
    const { run, statusState } = this.#index;
    return this.runId === run?.run ? statusState.current : undefined;
  }

  get #index(): LogProjection {
    return this.#values.index;
  }

  get #lanes(): readonly number[] {
    return lanesOf(this.#index, this.runId);
  }

  get #line(): AgentState {
    const lane = this.#lanes.at(-1);
    return (this.#state ??= (lane === undefined ? undefined : foldLine(this.#index, lane)) ?? emptyState);
  }
}

/** Returns the lanes of a run, oldest first. Omits the lanes of branches and sub-agents. */
function lanesOf({ lanes }: LogProjection, runId: string): readonly number[] {
  return [...lanes.values()].flatMap(({ runId: of, record: { lane, place } }) => (of === runId && !place ? lane : []));
}

const neededKinds: ReadonlySet<string> = new Set(["run", "snapshot", "answer", "outcome", "reply"]);

/** Returns whether the values of a record are needed. Other values, such as inputs of calls, can be large. */
function hasNeededValues({ kind }: AgentRecord): boolean {
  return neededKinds.has(kind);
}

/** @throws RequestNotOpenError unless the request has this decision in the records */
export function assertDecided(
  { request, approval, expiresAt }: RequestRecord,
  approved: boolean,
  records: RunRecords,
  open: readonly string[],
): void {
  const { agentId } = records;
  const reply = approval && records.request(approval.call)?.reply;
  if (!reply) throw new RequestNotOpenError("request_not_found", agentId, request, undefined, open);
  if (approved !== isRefusal(reply)) return;
  if (!reply.expired) throw new RequestNotOpenError("request_answered", agentId, request);
  throw new RequestNotOpenError("request_expired", agentId, request, new Date(expiresAt ?? reply.at).toISOString());
}
