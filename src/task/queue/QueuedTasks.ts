import { setNewest } from "../../internal/deleteOldest.ts";
import type { AgentSummary, ListOptions, RecordLog } from "../../storage/RecordLog.ts";
import { compareText, listSummaries } from "../../storage/summaries.ts";
import { afterTasksOf, isInQueue, parseTaskOrder, queueOrder, taskGroup, type TaskOrder } from "./taskOrder.ts";
import type { TaskLogs } from "./TaskLogs.ts";

/** The number of priorities of a queue whose turns are remembered. */
const mostTurns = 1_000;

/** Selects the tasks of one queue. */
export interface QueueScope {
  /** Defaults to the tasks without a queue. */
  readonly queue?: string | undefined;
  /** The keys whose tasks cannot start now. The caller may add keys while it reads the list. */
  readonly fullKeys?: ReadonlySet<string> | undefined;
  /** The group that was served last, by level. The list starts after this group. Defaults to the first key. */
  readonly turns?: ReadonlyMap<string, string> | undefined;
}

/** Notes that a task of a queue started, so that the next list starts after its key. */
export function noteTurn(
  turns: Map<string, string>,
  { queue, key, priority }: { readonly queue: string; readonly key?: string | undefined; readonly priority: number },
): void {
  const { level, group } = taskGroup({ queue, key }, priority);
  setNewest(turns, level, group, mostTurns);
}

/** Lists the tasks of one queue, or the tasks without a queue. */
export async function* listQueue(
  log: RecordLog,
  options: ListOptions,
  queue: string | undefined,
): AsyncGenerator<AgentSummary> {
  const start = queue === undefined ? undefined : queueOrder(queue);
  const after = options.after ?? start;
  for await (const summary of listSummaries(log, { ...options, ...(after !== undefined && { after }) })) {
    if (!isInQueue(summary.order, queue)) return;
    yield summary;
  }
}

/** Lists the queued tasks of one queue that may start now. Tasks of different keys take turns. */
export class QueuedTasks implements AsyncIterable<AgentSummary> {
  readonly #log: RecordLog;
  readonly #queue: string | undefined;
  readonly #fullKeys: ReadonlySet<string>;
  readonly #turns: ReadonlyMap<string, string>;
  readonly #now: number;

  constructor({ log, clock }: TaskLogs, { queue, fullKeys = new Set(), turns = new Map() }: QueueScope) {
    this.#log = log;
    this.#queue = queue;
    this.#fullKeys = fullKeys;
    this.#turns = turns;
    this.#now = clock.now();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentSummary> {
    if (this.#queue === undefined) return yield* this.#listed(undefined, undefined);
    for (let first = await this.#first(undefined); first;) {
      const { level } = parseTaskOrder(first.order);
      yield* this.#fairly(level);
      first = await this.#first(afterTasksOf(level));
    }
  }

  /** Lists the tasks of one priority. */
  async *#fairly(level: string): AsyncGenerator<AgentSummary> {
    const last = this.#turns.get(level);
    const end = afterTasksOf(level);
    const parts =
      last === undefined
        ? [[level, end]]
        : ([
            [afterTasksOf(last), end],
            [level, afterTasksOf(last)],
          ] as const);
    const waiting = new Map<string, string>();
    for (const [after, until] of parts)
      for await (const summary of this.#listed(after, until)) {
        const { group, hasKey } = parseTaskOrder(summary.order);
        if (hasKey) waiting.set(group, summary.order);
        yield summary;
      }
    while (waiting.size > 0)
      for (const [group, order] of waiting) {
        const next = await this.#first(order);
        const parsed = next && parseTaskOrder(next.order);
        if (!parsed || parsed.group !== group || this.#isSkipped(next, parsed)) waiting.delete(group);
        else {
          waiting.set(group, next.order);
          yield next;
        }
      }
  }

  /** Lists the tasks in a range of sort keys: one of each key, and all without a key. */
  async *#listed(from: string | undefined, until: string | undefined): AsyncGenerator<AgentSummary> {
    for (let after = from, next = true; next;) {
      next = false;
      for await (const summary of this.#list(after)) {
        if (until !== undefined && compareText(summary.order, until) > 0) return;
        const order = parseTaskOrder(summary.order);
        const skipped = this.#isSkipped(summary, order);
        if (!skipped) yield summary;
        if (!skipped && !order.hasKey) continue;
        after = afterTasksOf(order.group);
        next = true;
        break;
      }
    }
  }

  async #first(after: string | undefined): Promise<AgentSummary | undefined> {
    for await (const summary of this.#list(after, 1)) return summary;
    return undefined;
  }

  #list(after: string | undefined, limit?: number): AsyncGenerator<AgentSummary> {
    const options = {
      status: "queued",
      free: true,
      ...(after !== undefined && { after }),
      ...(limit && { limit }),
    } as const;
    return listQueue(this.#log, options, this.#queue);
  }

  #isSkipped({ controls }: AgentSummary, { time }: TaskOrder): boolean {
    const isDelayed = controls?.notBefore !== undefined && time > this.#now;
    return isDelayed || (controls?.key !== undefined && this.#fullKeys.has(controls.key));
  }
}
