import type { AgentRecord } from "../records/AgentRecord.ts";
import type { ReplyRecord, RequestRecord } from "../records/requestRecords.ts";

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

  /** The ids of those without a reply, on any lane, in the order in which they were made. */
  get unanswered(): ReadonlySet<string> {
    return this.#unanswered;
  }

  get(id: string): LineRequest | undefined {
    return this.#byId.get(id);
  }

  add(record: AgentRecord): void {
    if (record.kind === "request") this.#addRequest(record);
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
