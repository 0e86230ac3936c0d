import { ThreadChangedError } from "../../../errors/thread/ThreadChangedError.ts";
import type { StoredPut } from "../thread/Checkpoints.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import type { CheckpointPlace } from "../write/checkpointRecords.ts";

interface Seen {
  /** The number that the next put of the thread had then. */
  readonly next: number;
  /** Whether this process put it. */
  readonly own: boolean;
}

interface SeenThread {
  readonly checkpoints: Map<string, Seen>;
  /** True from the deletion until somebody sees that the thread is empty. */
  deleted: boolean;
}

const mostThreads = 1000;
const mostCheckpoints = 1000;

/**
 * What this process has seen of threads. Graphs go on from what they have read before: if the thread was deleted, or went on
 * in another process since, what they store would be lost or hide what the other one stored.
 */
export class SeenCheckpoints {
  readonly #threads = new Map<string, SeenThread>();

  /** A checkpoint was read. */
  read(thread: string, state: ThreadState, { entry }: StoredPut): void {
    const seen = this.#of(thread);
    const key = keyOf(entry.namespace, entry.id);
    this.#note(seen, key, { next: state.nextPut, own: seen.checkpoints.get(key)?.own ?? false });
  }

  /** This process put a checkpoint. */
  stored(thread: string, state: ThreadState, namespace: string, id: string): void {
    const seen = this.#of(thread);
    seen.deleted = false;
    this.#note(seen, keyOf(namespace, id), { next: state.nextPut, own: true });
  }

  deleted(thread: string): void {
    this.#of(thread).deleted = true;
  }

  /** The thread was found empty: what is stored next begins anew. */
  empty(thread: string): void {
    const seen = this.#threads.get(thread);
    if (seen) seen.deleted = false;
  }

  /** @throws ThreadChangedError when the checkpoint that something is stored for is gone. */
  assertThere(thread: string, state: ThreadState, { namespace, id }: CheckpointPlace): void {
    const seen = this.#threads.get(thread);
    if (!seen || id === undefined || state.entry(namespace, id)?.put) return;
    if (seen.deleted || seen.checkpoints.has(keyOf(namespace, id)))
      throw new ThreadChangedError("thread_deleted", thread, id);
  }

  /** @throws ThreadChangedError when another process went on since the parent was seen. */
  assertHead(thread: string, state: ThreadState, { namespace, id }: CheckpointPlace): void {
    const checkpoints = this.#threads.get(thread)?.checkpoints;
    const parent = id === undefined ? undefined : checkpoints?.get(keyOf(namespace, id));
    if (!checkpoints || !parent || id === undefined) return;
    const since = storedSince(state, namespace, parent.next);
    if (since.some((other) => !checkpoints.get(keyOf(namespace, other))?.own))
      throw new ThreadChangedError("thread_continued", thread, id);
  }

  #note({ checkpoints }: SeenThread, key: string, seen: Seen): void {
    checkpoints.delete(key);
    checkpoints.set(key, seen);
    forgetOldest(checkpoints, mostCheckpoints);
  }

  #of(thread: string): SeenThread {
    const seen = this.#threads.get(thread) ?? { checkpoints: new Map<string, Seen>(), deleted: false };
    this.#threads.delete(thread);
    this.#threads.set(thread, seen);
    forgetOldest(this.#threads, mostThreads);
    return seen;
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}

function keyOf(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

/** The ids of the checkpoints with this number or a higher one. */
function storedSince({ namespaces }: ThreadState, namespace: string, number: number): readonly string[] {
  const stored = namespaces.get(namespace)?.stored ?? [];
  const before = stored.findLastIndex(({ put }) => put !== undefined && put.number < number);
  return stored.slice(before + 1).map(({ id }) => id);
}
