import type { Clock } from "../../internal/Clock.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import type { OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";

/** How long a creator waits for a creator in another process. */
const lockTimeoutMs = 5_000;

/** Lets one creator of duplicates at a time look for duplicates and store its task. */
export class DuplicateLocks {
  readonly #log: RecordLog;
  readonly #clock: Clock;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor({ log, clock }: { readonly log: RecordLog; readonly clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * Calls `work` while no other creator holds the lock. Creators of this process take turns, so they never find the lock
   * busy. Calls `work` again if it throws because the lock was lost.
   *
   * @throws AgentBusyError if another process holds the lock for seconds.
   */
  async hold<Result>(lockId: string, work: (lost: AbortSignal) => Promise<Result>): Promise<Result> {
    const before = this.#last.get(lockId) ?? Promise.resolve();
    const turn = before.then(() => this.#hold(lockId, work));
    const ended = turn.catch(() => {});
    this.#last.set(lockId, ended);
    try {
      return await turn;
    } finally {
      if (this.#last.get(lockId) === ended) this.#last.delete(lockId);
    }
  }

  async #hold<Result>(lockId: string, work: (lost: AbortSignal) => Promise<Result>): Promise<Result> {
    for (;;) {
      const lock = await this.#own(lockId);
      try {
        return await work(lock.lost);
      } catch (error) {
        if (!lock.lost.aborted || error !== lock.lost.reason) throw error;
      } finally {
        await lock.release();
      }
    }
  }

  async #own(lockId: string): Promise<OwnedLog> {
    const open = () => this.#log.open(lockId, processOwner());
    const lock = await whileBusy(open, { clock: this.#clock, timeoutMs: lockTimeoutMs }, async () => false);
    return lock as OwnedLog;
  }
}
