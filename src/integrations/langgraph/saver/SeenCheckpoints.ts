import { ThreadChangedError } from "../../../errors/integrationErrors.ts";
import { setNewest } from "../../../internal/deleteOldest.ts";
import type { StoredPut } from "../thread/Checkpoints.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import type { CheckpointPlace } from "../write/checkpointRecords.ts";

interface Seen {
  /** The number that the next stored checkpoint would have had when this process saw this checkpoint. */
  readonly next: number;
  readonly own: boolean;
}

interface SeenThread {
  readonly checkpoints: Map<string, Seen>;
  /** `true` after this process deleted the thread, until it reads the empty thread. */
  deleted: boolean;
}

const mostThreads = 1000;
const mostCheckpoints = 1000;

/**
 * The checkpoints that this process has read or stored. If another process deletes or continues a thread, a graph in
 * this process must not store checkpoints that follow earlier checkpoints, because these would be lost or hide others.
 */
export class SeenCheckpoints {
  readonly #threads = new Map<string, SeenThread>();

  read(thread: string, state: ThreadState, { entry }: StoredPut): void {
    const seen = this.#of(thread);
    const key = keyOf(entry.namespace, entry.id);
    const own = seen.checkpoints.get(key)?.own ?? false;
    setNewest(seen.checkpoints, key, { next: state.nextPut, own }, mostCheckpoints);
  }

  stored(thread: string, state: ThreadState, namespace: string, id: string): void {
    const seen = this.#of(thread);
    seen.deleted = false;
    setNewest(seen.checkpoints, keyOf(namespace, id), { next: state.nextPut, own: true }, mostCheckpoints);
  }

  deleted(thread: string): void {
    this.#of(thread).deleted = true;
  }

  /** Notes that the thread is empty, so that the next checkpoint starts it again. */
  empty(thread: string): void {
    const seen = this.#threads.get(thread);
    if (seen) seen.deleted = false;
  }

  /** @throws ThreadChangedError if the parent checkpoint was deleted or pruned */
  assertThere(thread: string, state: ThreadState, { namespace, id }: CheckpointPlace): void {
    const seen = this.#threads.get(thread);
    if (!seen || id === undefined || state.put(namespace, id)) return;
    if (seen.deleted || seen.checkpoints.has(keyOf(namespace, id)))
      throw new ThreadChangedError("thread_deleted", thread, id);
  }

  /** @throws ThreadChangedError if another process has continued the thread since the parent was read */
  assertHead(thread: string, state: ThreadState, { namespace, id }: CheckpointPlace): void {
    const checkpoints = this.#threads.get(thread)?.checkpoints;
    const parent = id === undefined ? undefined : checkpoints?.get(keyOf(namespace, id));
    if (!checkpoints || !parent || id === undefined) return;
    const since = storedSince(state, namespace, parent.next);
    if (since.some((other) => !checkpoints.get(keyOf(namespace, other))?.own))
      throw new ThreadChangedError("thread_continued", thread, id);
  }

  #of(thread: string): SeenThread {
    const seen = this.#threads.get(thread) ?? { checkpoints: new Map<string, Seen>(), deleted: false };
    setNewest(this.#threads, thread, seen, mostThreads);
    return seen;
  }
}

function keyOf(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

function storedSince({ namespaces }: ThreadState, namespace: string, number: number): readonly string[] {
  const stored = namespaces.get(namespace)?.stored ?? [];
  const before = stored.findLastIndex(({ put }) => put !== undefined && put.number < number);
  return stored.slice(before + 1).map(({ id }) => id);
}
