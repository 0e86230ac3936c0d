import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { validateRecord } from "../../checkpoint/format/validateRecord.ts";
import { liveEntries } from "../../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { addValueReferences } from "../../checkpoint/records/blobReferences.ts";
import type { AnswerRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { ReplyRecord, RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { RunRecord, StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { answerKey, type Visit } from "../../checkpoint/records/Visit.ts";
import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { readPaced } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { toolCallsIn, type ToolCallPart } from "./responseMessage.ts";

export interface HeldRecord<Kind> {
  readonly record: Kind;
  readonly log: AgentLog;
}

export type RecordedStatus = StatusRecord["status"] | "completed" | "cancelled";

/** The records of one run. A later record of the same position replaces the earlier one. */
class RunFacts {
  readonly answers = new Map<string, HeldRecord<AnswerRecord>>();
  readonly outcomes = new Map<string, HeldRecord<OutcomeRecord>>();
  readonly requests = new Map<string, RequestRecord>();
  readonly replies = new Map<string, HeldRecord<ReplyRecord>>();
  readonly lanes: number[] = [];
  visit: Visit | undefined;
  status: RecordedStatus = "in_progress";
  error: StatusRecord["error"];

  constructor(readonly run: HeldRecord<RunRecord>) {}

  add(record: AgentRecord, log: AgentLog): void {
    switch (record.kind) {
      case "lane":
        if (!record.place) this.lanes.push(record.lane);
        return;
      case "answer":
        this.visit = record.visit;
        this.answers.set(answerKey(record.visit, record.ordinal, record.within), { record, log });
        return;
      case "outcome":
        this.outcomes.set(record.call, { record, log });
        return;
      case "request":
        this.requests.set(record.request, record);
        this.replies.delete(record.request);
        return;
      case "reply":
        this.replies.set(record.request, { record, log });
        return;
      case "status":
        this.status = record.status;
        this.error = record.error;
        return;
      case "checkpoint":
      case "ended":
        this.status = record.status ?? this.status;
        return;
      default:
    }
  }
}

/** Reads the records of a single-node run from the log without owning the agent. */
export class RunRecords {
  readonly #log: RecordLog;
  readonly #runId: string | undefined;
  #position = 0;
  #facts: RunFacts | undefined;
  /** The run of the following records, or `undefined` if they belong to another run. */
  #current: RunFacts | undefined;

  /** @param runId defaults to the last run */
  constructor(
    log: RecordLog,
    readonly agentId: string,
    runId?: string,
  ) {
    this.#log = log;
    this.#runId = runId;
  }

  get exists(): boolean {
    return this.#facts !== undefined;
  }

  /** @throws UnreadableValueError if the log does not contain the run */
  get runId(): string {
    return this.#found.run.record.run;
  }

  /** @throws UnreadableValueError if the log does not contain the run */
  get input(): unknown {
    const { record, log } = this.#found.run;
    return log.readValue(record.input);
  }

  get status(): RecordedStatus {
    return this.#found.status;
  }

  get error(): StatusRecord["error"] {
    return this.#found.error;
  }

  /** The node visit of the newest response, or `undefined` without responses. */
  get visit(): Visit | undefined {
    return this.#found.visit;
  }

  /** The lines of the run, newest first. A call may belong to any of them. */
  get lines(): readonly RunLine[] {
    const { runId, agentId } = this;
    return this.#found.lanes.toReversed().map((lane) => ({ agentId, runId, lane }));
  }

  /** Reads the records that were appended since the last call. @throws CorruptLogError, UnreadableValueError */
  async read(): Promise<void> {
    const stored = await readPaced(this.#log, this.agentId, { after: this.#position });
    const defect = stored.map((entry) => validateRecord(entry)).find((found) => found !== undefined);
    if (defect !== undefined) throw new UnreadableValueError(defect);
    const entries = this.#position === 0 ? liveEntries(stored) : stored;
    const records = entries.flatMap((entry) => entry.records as readonly AgentRecord[]);
    this.#position = stored.at(-1)?.position ?? this.#position;
    const references = new Map<string, BlobCell>();
    for (const record of records) addValueReferences(record, references);
    const log = await AgentLog.ofValues(this.#log, this.agentId, references);
    for (const record of records) this.#add(record, log);
  }

  /** Returns the newest response with this number that was requested outside of tool calls. */
  answer(ordinal: number): HeldRecord<AnswerRecord> | undefined {
    const { visit, answers } = this.#found;
    return visit && answers.get(answerKey(visit, ordinal));
  }

  /** Returns the outcome of a call under the first id that has one. */
  outcome(ids: readonly string[]): HeldRecord<OutcomeRecord> | undefined {
    const { outcomes } = this.#found;
    const id = ids.find((each) => outcomes.has(each));
    return id === undefined ? undefined : outcomes.get(id);
  }

  /** The calls that the responses of the run request. */
  get calls(): readonly ToolCallPart[] {
    const messages = [...this.#found.answers.values()].map(({ record, log }) => log.readValue(record.message));
    return messages.flatMap((message) => toolCallsIn(message as AssistantMessage).map(({ part }) => part));
  }

  /** Returns the newest request for the approval of a call. */
  request(call: string): RequestRecord | undefined {
    return [...this.#found.requests.values()].findLast(({ approval }) => approval?.call === call);
  }

  /** Returns the library's id of the call that a response of the run requests under an id of the provider. */
  callOfProvider(id: string): string | undefined {
    return this.calls.find(({ providerToolCallId }) => providerToolCallId === id)?.toolCallId;
  }

  /** Returns whether a response of the run requests a call, by the library's id. */
  hasCall(id: string): boolean {
    const { outcomes } = this.#found;
    return outcomes.has(id) || this.request(id) !== undefined || this.calls.some(({ toolCallId }) => toolCallId === id);
  }

  approval(ids: readonly string[]): HeldRecord<ReplyRecord> | undefined {
    const { requests, replies } = this.#found;
    const request = [...requests.values()].findLast(({ approval }) => approval && ids.includes(approval.call));
    return request && replies.get(request.request);
  }

  get #found(): RunFacts {
    if (!this.#facts)
      throw new UnreadableValueError(
        `the records of ${this.#runId === undefined ? "a run" : `run ${this.#runId}`} are not in the log of agent "${this.agentId}"`,
      );
    return this.#facts;
  }

  #add(record: AgentRecord, log: AgentLog): void {
    if (record.kind !== "run") return this.#current?.add(record, log);
    this.#current = undefined;
    if (this.#runId !== undefined && record.run !== this.#runId) return;
    // A rollback may reopen a finished run.
    if (this.#facts?.run.record.run !== record.run) this.#facts = new RunFacts({ record, log });
    this.#facts.status = "in_progress";
    this.#current = this.#facts;
  }
}
