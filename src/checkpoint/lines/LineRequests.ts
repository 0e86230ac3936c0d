import type { AgentRecord } from "../records/AgentRecord.ts";
import { isRefusal, type ReplyRecord, type RequestRecord } from "../records/requestRecords.ts";

/** A request, and the lane on which its line goes on. */
export interface LineRequest {
  readonly record: RequestRecord;
  readonly lane: number;
  /** Absent: it is not answered. */
  readonly reply?: ReplyRecord;
}

/** The requests that lines have made, open or not. A record costs what it changes. */
export class LineRequests {
  readonly #byId = new Map<string, LineRequest>();
  /** How many replies were given since the status listed the open requests. */
  repliesToStatus = 0;
  readonly #unanswered = new Set<string>();
  /** By the ids of approvals: the order of the record before which they do not count. */
  readonly #forgottenBefore = new Map<string, number>();
  /** Whether there are records after which an earlier approval does not count. */
  asksAgain = false;

  /** The ids of those without a reply, on any lane, in the order in which they were made. */
  get unanswered(): ReadonlySet<string> {
    return this.#unanswered;
  }

  get(id: string): LineRequest | undefined {
    return this.#byId.get(id);
  }

  /** Whether a record is of an approval that does not count any more. */
  isForgotten(record: AgentRecord, order: number): boolean {
    if (record.kind !== "request" && record.kind !== "reply") return false;
    return order < (this.#forgottenBefore.get(record.request) ?? -1);
  }

  /**
   * An approval lets a call begin once, where it was given. Another agent has to ask for its own. A refusal stays.
   *
   * @param isOpenToo whether those that have no reply are asked for anew, too.
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

  /** What is appended next follows these. */
  continue({ repliesToStatus, asksAgain }: LineRequests): void {
    Object.assign(this, { repliesToStatus, asksAgain });
  }

  /** @param order of the record among all of the log. */
  add(record: AgentRecord, order: number): void {
    if (record.kind === "origin") this.#forgetApprovals(order, record.asksAgain === true);
    else if (record.kind === "custody" && record.asksAgain) this.#forgetApprovals(order, true);
    else if (record.kind === "request") this.#addRequest(record);
    else if (record.kind === "status") this.repliesToStatus = 0;
    else if (record.kind === "reply") this.#addReply(record);
  }

  #addRequest(record: RequestRecord): void {
    this.#byId.set(record.request, { record, lane: record.lane });
    this.#unanswered.add(record.request);
  }

  #addReply(reply: ReplyRecord): void {
    this.repliesToStatus++;
    this.#unanswered.delete(reply.request);
    const known = this.#byId.get(reply.request);
    if (known) this.#byId.set(reply.request, { ...known, reply });
  }
}
