import type { AgentRecord } from "../records/AgentRecord.ts";
import { isRefusal, type ReplyRecord, type RequestRecord } from "../records/requestRecords.ts";

export interface LineRequest {
  readonly record: RequestRecord;
  readonly lane: number;
  readonly reply?: ReplyRecord;
}

interface OrderedRequest extends LineRequest {
  readonly order: number;
}

/** The requests of a run with its branches and sub-agents. */
export class LineRequests {
  readonly #byId = new Map<string, OrderedRequest>();
  /** The number of replies since the last status record, which lists the open requests. */
  repliesToStatus = 0;
  readonly #unanswered = new Set<string>();
  /** By request id: earlier records of the request and its replies, with a lower order, are invalid. */
  readonly #forgottenBefore = new Map<string, number>();
  asksAgain = false;

  get unanswered(): ReadonlySet<string> {
    return this.#unanswered;
  }

  all(): Iterable<OrderedRequest> {
    return this.#byId.values();
  }

  get(id: string): LineRequest | undefined {
    return this.#byId.get(id);
  }

  isForgotten(record: AgentRecord, order: number): boolean {
    if (record.kind !== "request" && record.kind !== "reply") return false;
    return order < (this.#forgottenBefore.get(record.request) ?? -1);
  }

  /**
   * Invalidates approvals, because an approval is valid only for one call of one agent. With `isOpenToo`, also removes
   * open requests for approval. Keeps rejections.
   */
  #forgetApprovals(order: number, isOpenToo: boolean): void {
    this.asksAgain = true;
    for (const [id, { record, reply }] of this.#byId) {
      if (!record.approval || (reply ? isRefusal(reply) : !isOpenToo)) continue;
      this.#forgottenBefore.set(id, order);
      this.#byId.delete(id);
      this.#unanswered.delete(id);
    }
  }

  continue({ repliesToStatus, asksAgain }: LineRequests): void {
    Object.assign(this, { repliesToStatus, asksAgain });
  }

  add(record: AgentRecord, order: number): void {
    if (record.kind === "origin") this.#forgetApprovals(order, record.asksAgain === true);
    else if (record.kind === "custody" && record.asksAgain) this.#forgetApprovals(order, true);
    else if (record.kind === "request") this.#addRequest(record, order);
    else if (record.kind === "status") this.repliesToStatus = 0;
    else if (record.kind === "reply") this.#addReply(record, order);
  }

  #addRequest(record: RequestRecord, order: number): void {
    this.#byId.set(record.request, { record, lane: record.lane, order });
    this.#unanswered.add(record.request);
  }

  #addReply(reply: ReplyRecord, order: number): void {
    this.repliesToStatus++;
    this.#unanswered.delete(reply.request);
    const known = this.#byId.get(reply.request);
    if (known) this.#byId.set(reply.request, { ...known, reply, order });
  }
}
