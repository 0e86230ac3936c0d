import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { compareSummaries, isAmong, isSelected } from "../summaries.ts";

export type Listed = Pick<AgentSummary, "agentId" | "status" | "order" | "dueAt" | "updatedAt">;

/** The agents in memory in list order, grouped by status, so that a list reads only its results. */
export class SummaryOrder {
  readonly #listed = new Map<string, Listed>();
  readonly #ofStatus = new Map<string, Listed[]>();

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

  /** Yields the matching agents in order. Later changes are visible at positions that were not read yet. */
  *select(options: Omit<ListOptions, "free" | "limit">): Generator<Listed> {
    const { status, after = "" } = options;
    let last: Pick<Listed, "order" | "agentId"> = { order: after, agentId: "" };
    for (let next = this.#next(status, last); next; next = this.#next(status, last)) {
      if (isSelected(next, options)) yield next;
      last = { order: next.order, agentId: `${next.agentId}\0` };
    }
  }

  #next(asked: ListOptions["status"], from: Pick<Listed, "order" | "agentId">): Listed | undefined {
    let first: Listed | undefined;
    for (const [status, listed] of this.#ofStatus) {
      const next = isAmong(status, asked) ? listed[placeOf(from, listed)] : undefined;
      if (next && (!first || compareSummaries(next, first) < 0)) first = next;
    }
    return first;
  }
}

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
