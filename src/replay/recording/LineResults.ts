import { type AssistantMessage, type ContentPart, partsOfType } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { type AnswerRecord, isOver } from "../../checkpoint/records/callRecords.ts";
import type { ReplyRecord, RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { answerKey, isSameVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import type { RecordedCall, RecordedRequest } from "../../checkpoint/state/AgentState.ts";
import { withRecord } from "../../checkpoint/state/StateFold.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import {
  type RecordedInput,
  type LineRecording,
  type RecordedOutcome,
  type RecordedReply,
  type RecordedResponse,
  type RecordedToolCall,
  madeWithin,
} from "./Recording.ts";

type ToolCallPart = Extract<ContentPart, { readonly type: "tool-call" }>;

/** Collects the results of a line. If there were several attempts, the attempt with which the run continued counts. */
export class LineResults {
  readonly #log: AgentLog;
  readonly #answers = new Map<string, AnswerRecord & { readonly order: number }>();
  readonly #calls = new Map<string, RecordedCall>();
  readonly #requests = new Map<string, RecordedRequest & { readonly order: number }>();
  readonly #open = new Map<string, RequestRecord>();

  constructor(log: AgentLog) {
    this.#log = log;
  }

  add(record: AgentRecord, order: number): void {
    switch (record.kind) {
      case "answer":
        return this.#addAnswer(record, order);
      case "intent":
      case "outcome":
        return void this.#calls.set(record.call, withRecord(this.#calls.get(record.call), record, order));
      case "request":
        this.#open.set(record.request, record);
        return void this.#requests.set(record.request, { record, order });
      case "reply": {
        this.#open.delete(record.request);
        const known = this.#requests.get(record.request);
        if (known) this.#requests.set(record.request, { ...known, reply: record, order });
        return;
      }
      case "checkpoint":
        if (!record.move && !madeWithin(record)) this.#expire(record.at, order);
        return;
      default:
        return;
    }
  }

  /** Adds a response. A second response to a request replaces all results of the first attempt. */
  #addAnswer(record: AnswerRecord, order: number): void {
    const key = answerKey(record.visit, record.ordinal, record.within);
    if (this.#answers.has(key)) {
      for (const [other, { visit }] of this.#answers) if (isSameVisit(visit, record.visit)) this.#answers.delete(other);
      for (const { call, visit } of this.#calls.values())
        if (isSameVisit(visit, record.visit)) this.#calls.delete(call);
    }
    this.#answers.set(key, { ...record, order });
  }

  /** Ends the requests that had expired when their node continued, because the run recorded no reply. */
  #expire(at: number, order: number): void {
    for (const record of this.#open.values()) {
      const { lane, request, expiresAt = Infinity, waitingFor } = record;
      if (waitingFor === "timer" || waitingFor === "event" || expiresAt > at) continue;
      const reply: ReplyRecord = { kind: "reply", lane, request, at: expiresAt, expired: true };
      this.#requests.set(request, { record, reply, order });
    }
    this.#open.clear();
  }

  hasVisit(visit: Visit): boolean {
    const results = [...this.#answers.values(), ...this.#calls.values()];
    return results.some((result) => isSameVisit(result.visit, visit));
  }

  read(): Pick<LineRecording, "answers" | "calls" | "requests"> {
    const { index } = this.#log;
    const answers = [...this.#answers.values()].map((answer) => this.#response(answer));
    const asked = new Map(
      answers.flatMap(({ message }) => partsOfType(message, "tool-call").map((part) => [part.toolCallId, part])),
    );
    // A redo continues with the outcomes of calls that an earlier rollback has reverted.
    const counted = [...this.#calls.values()].filter((call) => isOver(call.outcome) || index.counts(call));
    return {
      answers,
      calls: counted.map((call) => this.#call(call, asked)),
      requests: [...this.#requests.values()].map((request) => this.#input(request)),
    };
  }

  #response(record: AnswerRecord & { readonly order: number }): RecordedResponse {
    const { visit, ordinal, within, node: nodeId, asked, usage, finish: finishReason, failed = [], order } = record;
    const message = this.#log.readValue(record.message) as AssistantMessage;
    return withoutUndefined({ visit, ordinal, within, nodeId, asked, message, usage, finishReason, failed, order });
  }

  #call({ call, visit, intent, outcome, order }: RecordedCall, asked: ReadonlyMap<string, ToolCallPart>) {
    const facts = intent ?? outcome;
    const { ordinal, within, tool: toolName = "", effect = "", node: nodeId = "" } = facts ?? {};
    const part = asked.get(call);
    const input = facts && "input" in facts ? this.#log.readValue(facts.input) : part?.input;
    const own = { toolCallId: call, visit, ordinal, within, nodeId, toolName, effect, input, order };
    return withoutUndefined({ ...own, outcome: this.#outcome(outcome) }) satisfies RecordedToolCall;
  }

  #outcome(outcome: RecordedCall["outcome"]): RecordedOutcome | undefined {
    if (!isOver(outcome)) return undefined;
    const { error, failedCalls, lost, unknown } = outcome;
    const output = "output" in outcome ? { output: this.#log.readValue(outcome.output) } : {};
    const changes = this.#log.readValue(outcome.changes);
    return { ...output, ...withoutUndefined({ changes, error, failedCalls, lost, unknown }) };
  }

  #input({ record, reply, order }: RecordedRequest & { readonly order: number }): RecordedInput {
    const { request: requestId, visit, node: nodeId, id, question, ordinal, within, approval } = record;
    const prompt = String(this.#log.readValue(record.prompt));
    const own = { requestId, visit, nodeId, id, question, ordinal, within, prompt, order };
    return withoutUndefined({ ...own, approval: approval?.call, reply: this.#reply(record, reply) });
  }

  #reply(request: RequestRecord, reply: RecordedRequest["reply"]): RecordedReply | undefined {
    if (!reply) return undefined;
    const { rejected, by, expired } = reply;
    if (expired) return { expiredAt: new Date(request.expiresAt ?? 0).toISOString() };
    if (rejected !== undefined) return withoutUndefined({ rejected, by });
    return { answer: this.#log.readValue(reply.answer), ...withoutUndefined({ by }) };
  }
}
