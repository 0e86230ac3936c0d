import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { compareSummaries, isAmong, isSelected } from "../selectSummaries.ts";

/** What an agent is listed by. */
export type Listed = Pick<AgentSummary, "agentId" | "status" | "order" | "dueAt" | "updatedAt">;

/** The agents in memory in the order of a list, those of each status apart: a list reads what it yields, not all there are. */
export class SummaryOrder {
  readonly #listed = new Map<string, Listed>();
  readonly #ofStatus = new Map<string, Listed[]>();

  /** Puts an agent in the place that its summary gives it. */
  set({ agentId, status, order, dueAt, updatedAt }: AgentSummary): void {
    this.delete(agentId);
    const listed = { agentId, status, order, updatedAt, ...(dueAt !== undefined && { dueAt }) };
    const others = this.#ofStatus.get(status) ?? [];
    this.#listed.set(agentId, listed);
    this.#ofStatus.set(status, others);
    others.splice(placeOf(listed, others), 0, listed);
  }

  delete(agentId: string): void {
    const listed = this.#listed.get(agentId);
    if (!listed) return;
    const others = this.#ofStatus.get(listed.status) ?? [];
    others.splice(placeOf(listed, others), 1);
    if (others.length === 0) this.#ofStatus.delete(listed.status);
    this.#listed.delete(agentId);
  }

  /** Agents that fit, in order. What changes while they are read shows from there on. */
  *select(options: Omit<ListOptions, "free" | "limit">): Generator<Listed> {
    const { status, after = "" } = options;
    let last: Pick<Listed, "order" | "agentId"> = { order: after, agentId: "" };
    for (let next = this.#next(status, last); next; next = this.#next(status, last)) {
      if (isSelected(next, options)) yield next;
      last = { order: next.order, agentId: `${next.agentId}\0` };
    }
  }

  /** The first agent in one of the statuses from a place on. */
  #next(asked: ListOptions["status"], from: Pick<Listed, "order" | "agentId">): Listed | undefined {
    let first: Listed | undefined;
    for (const [status, listed] of this.#ofStatus) {
      const next = isAmong(status, asked) ? listed[placeOf(from, listed)] : undefined;
      if (next && (!first || compareSummaries(next, first) < 0)) first = next;
    }
    return first;
  }
}

/** The index of the first agent that does not come before a place. */
function placeOf(place: Pick<Listed, "order" | "agentId">, listed: readonly Listed[]): number {
  let [low, high] = [0, listed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = listed[middle];
    if (found && compareSummaries(found, place) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
