import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { compareSummaries, isAmong, isSelected } from "../summaries.ts";

type Listed = Pick<AgentSummary, "agentId" | "status" | "order" | "dueAt" | "updatedAt">;
type Place = Pick<Listed, "order" | "agentId">;

/**
 * The agents in memory in list order, grouped by status, and by due time. So a list reads little more than its results.
 */
export class SummaryOrder {
  readonly #listed = new Map<string, Listed>();
  readonly #ofStatus = new Map<string, Listed[]>();
  /** The agents with a due time, earliest first. */
  readonly #due: Listed[] = [];

  set({ agentId, status, order, dueAt, updatedAt }: AgentSummary): void {
    this.delete(agentId);
    const listed: Listed = withoutUndefined({ agentId, status, order, dueAt, updatedAt });
    const others = this.#ofStatus.get(status) ?? [];
    this.#listed.set(agentId, listed);
    this.#ofStatus.set(status, others);
    others.splice(placeOf(listed, others), 0, listed);
    if (dueAt !== undefined) this.#due.splice(this.#dueUntil(dueAt), 0, listed);
  }

  delete(agentId: string): void {
    const listed = this.#listed.get(agentId);
    if (!listed) return;
    const others = this.#ofStatus.get(listed.status) ?? [];
    others.splice(placeOf(listed, others), 1);
    if (listed.dueAt !== undefined) this.#due.splice(this.#due.indexOf(listed), 1);
    this.#listed.delete(agentId);
  }

  /** Yields the matching agents in order. Later changes are visible at positions that were not read yet. */
  *select(options: Omit<ListOptions, "free" | "limit">): Generator<Listed> {
    const { status, after = "", dueBefore } = options;
    if (dueBefore !== undefined) {
      const due = this.#due.slice(0, this.#dueUntil(dueBefore));
      return yield* due.filter((each) => isSelected(each, options)).sort(compareSummaries);
    }
    let last: Place = { order: after, agentId: "" };
    for (let next = this.#next(status, last); next; next = this.#next(status, last)) {
      if (isSelected(next, options)) yield next;
      last = { order: next.order, agentId: `${next.agentId}\0` };
    }
  }

  #next(asked: ListOptions["status"], from: Place): Listed | undefined {
    let first: Listed | undefined;
    for (const [status, listed] of this.#ofStatus) {
      const next = isAmong(status, asked) ? listed[placeOf(from, listed)] : undefined;
      if (next && (!first || compareSummaries(next, first) < 0)) first = next;
    }
    return first;
  }

  /** Returns the number of agents that are due at a time. */
  #dueUntil(time: string): number {
    const ms = Date.parse(time);
    return countFirst(this.#due, ({ dueAt = "" }) => Date.parse(dueAt) <= ms);
  }
}

function placeOf(place: Place, listed: readonly Listed[]): number {
  return countFirst(listed, (other) => compareSummaries(other, place) < 0);
}

/** Returns how many items pass the test. All items that pass are at the start of the list. */
function countFirst(listed: readonly Listed[], passes: (item: Listed) => boolean): number {
  let [low, high] = [0, listed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(listed[middle] as Listed)) low = middle + 1;
    else high = middle;
  }
  return low;
}
