import type { ClaimableTask } from "../queue/claimableTasks.ts";
import { noteTurn } from "../queue/QueuedTasks.ts";
import type { TaskManager } from "../queue/TaskManager.ts";

/** How long a worker takes tasks from a list before it reads the list again, in milliseconds. */
const longestUseMs = 250;

interface KeptList {
  readonly tasks: AsyncGenerator<ClaimableTask>;
  readonly readAtMs: number;
}

type OfferTask = (task: ClaimableTask) => Promise<"next" | "keep" | "stop">;

/** The unused parts of the lists that a worker has read, by queue. The worker takes its next tasks from these lists. */
export class TaskLists {
  readonly #manager: Pick<TaskManager, "claimable" | "clock">;
  readonly #kept = new Map<string | undefined, KeptList>();
  /** The last served keys, by queue. */
  readonly #turns = new Map<string | undefined, Map<string, string>>();

  #queues: readonly (string | undefined)[];

  constructor(manager: Pick<TaskManager, "claimable" | "clock">, queues: readonly string[]) {
    this.#manager = manager;
    this.#queues = [undefined, ...queues];
  }

  /** The queues of the worker. The last served queue is the last one, so that no queue takes all places. */
  get queues(): readonly (string | undefined)[] {
    return this.#queues;
  }

  /** Notes that a task started, so that other queues and keys are next. */
  noteStart({ queue, key, priority }: ClaimableTask): void {
    this.#queues = [...this.#queues.filter((other) => other !== queue), queue];
    if (queue !== undefined) noteTurn(this.#turnsOf(queue), { queue, key, priority });
  }

  #turnsOf(queue: string | undefined): Map<string, string> {
    const turns = this.#turns.get(queue) ?? new Map<string, string>();
    this.#turns.set(queue, turns);
    return turns;
  }

  /**
   * Offers the tasks of a queue until `offer` returns `stop` or `keep`, or no task is left. After `keep`, the next call
   * continues with the next task, unless the list is then too old.
   */
  async offer(queue: string | undefined, fullKeys: ReadonlySet<string>, offer: OfferTask): Promise<void> {
    const kept = this.#kept.get(queue);
    this.#kept.delete(queue);
    if (kept && !this.#isOld(kept) && (await this.#offerFrom(kept, queue, offer))) return;
    if (kept) await close(kept);
    const tasks = this.#manager.claimable({ queue, fullKeys, turns: this.#turnsOf(queue) });
    await this.#offerFrom({ tasks, readAtMs: this.#manager.clock.monotonic() }, queue, offer);
  }

  /** Forgets all lists, because a task may be missing in them. */
  async clear(): Promise<void> {
    const kept = [...this.#kept.values()];
    this.#kept.clear();
    for (const list of kept) await close(list);
  }

  /** Returns whether `offer` stopped before the end of the list. */
  async #offerFrom(list: KeptList, queue: string | undefined, offer: OfferTask): Promise<boolean> {
    for (let next = await list.tasks.next(); !next.done; next = await list.tasks.next()) {
      const then = await offer(next.value);
      if (then === "next") continue;
      if (then === "keep") this.#kept.set(queue, list);
      else await close(list);
      return true;
    }
    return false;
  }

  #isOld({ readAtMs }: KeptList): boolean {
    return this.#manager.clock.monotonic() - readAtMs > longestUseMs;
  }
}

async function close({ tasks }: KeptList): Promise<void> {
  await tasks.return(undefined);
}
