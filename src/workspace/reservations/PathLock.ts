import { pause } from "../../internal/abortable.ts";
import { processFacts } from "../../nodejs/ProcessIdentity.ts";
import {
  granted,
  type LockEntry,
  type LockExpiry,
  type LockState,
  mayHave,
  queued,
  renewed,
  type ReservedFile,
  without,
} from "./LockState.ts";
import type { LockFolder } from "./LockFolder.ts";

/** The lifetime of a waiting entry. The owner renews the entry after half of this time. An expired entry is skipped. */
const waitingTtlMs = 10_000;
const shortestWaitMs = 2;
const longestWaitMs = 100;

export interface LockRequest {
  readonly id: string;
  readonly owner: string;
  readonly ttlMs: number;
}

/**
 * Applies one request to the locks of paths. Each operation reads the state, decides and writes, until a read returns
 * the wanted state. Only a read after a write shows whether the write succeeded.
 */
export class PathLock {
  constructor(
    readonly folder: LockFolder,
    readonly expiry: LockExpiry,
    readonly request: LockRequest,
  ) {}

  /** Returns the deadline of the acquired lock, or the blocking state after a timeout. */
  async acquire(file: ReservedFile, giveUpAtMs: number, signal?: AbortSignal): Promise<number | LockState> {
    try {
      for (let waitMs = shortestWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
        signal?.throwIfAborted();
        const leftMs = giveUpAtMs - this.expiry.clock.monotonic();
        const state = await this.#settle(file.path, (now) => this.#ask(now, file, leftMs > 0));
        const own = this.#ownOf(state);
        if (own !== undefined) return own.deadlineMs ?? 0;
        if (leftMs <= 0) return this.#refuse(file.path, state);
        await pause(this.expiry.clock, Math.min(waitMs, leftMs), signal);
      }
    } catch (error) {
      await this.release(file.path).catch(() => {});
      throw error;
    }
  }

  /** Returns the new deadline, or `undefined` if the request no longer holds the file. */
  async renew(file: ReservedFile): Promise<number | undefined> {
    const entry = this.#entry(file, this.request.ttlMs);
    const state = await this.#settle(file.path, (now) => {
      const own = this.#ownOf(now);
      if (own === undefined || own.deadlineMs === entry.deadlineMs) return undefined;
      return renewed(now, { ...entry, since: own.since });
    });
    return this.#ownOf(state)?.deadlineMs;
  }

  async release(path: string): Promise<void> {
    const { id } = this.request;
    await this.#settle(path, (now) => {
      const isKnown = [...now.holders, ...now.waiting].some((entry) => entry.id === id);
      return isKnown ? without(now, id) : undefined;
    });
  }

  #ask(now: LockState, file: ReservedFile, waits: boolean): LockState | undefined {
    const { id, ttlMs } = this.request;
    if (this.#ownOf(now) !== undefined) return undefined;
    const current = this.expiry.current(now);
    if (mayHave(current, id, file.operation)) return granted(current, this.#entry(file, ttlMs));
    const own = now.waiting.find((entry) => entry.id === id);
    const isFresh = own !== undefined && this.expiry.leftMs(own) > waitingTtlMs / 2;
    return !waits || isFresh ? undefined : queued(current, this.#entry(file, waitingTtlMs, own?.since));
  }

  async #refuse(path: string, state: LockState): Promise<LockState> {
    await this.release(path);
    return this.expiry.current(state);
  }

  #ownOf({ holders }: LockState): LockEntry | undefined {
    return holders.find(({ id }) => id === this.request.id);
  }

  /** @param decide returns the next state, or `undefined` if the state is already the wanted one */
  async #settle(path: string, decide: (state: LockState) => LockState | undefined): Promise<LockState> {
    let hasWritten = false;
    for (;;) {
      const generation = await this.folder.read(path);
      const next = decide(generation.state);
      if (next === undefined) {
        if (hasWritten) await this.folder.clean(path);
        return generation.state;
      }
      await this.folder.write(generation, next);
      hasWritten = true;
    }
  }

  #entry({ operation }: ReservedFile, ttlMs: number, since?: string): LockEntry {
    const { id, owner } = this.request;
    const now = this.expiry.clock.now();
    return {
      id,
      owner,
      operation,
      since: since ?? new Date(now).toISOString(),
      expiresAt: new Date(now + ttlMs).toISOString(),
      ttlMs,
      deadlineMs: this.expiry.clock.monotonic() + ttlMs,
      process: processFacts(this.expiry.identity),
    };
  }
}
