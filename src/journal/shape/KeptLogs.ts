import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { LogStorage } from "../../storage/LogStorage.ts";
import { KeptLog } from "./KeptLog.ts";
import { type LogShape, logIdOf, type ShapeState } from "./LogShape.ts";
import { ShapedLog } from "./ShapedLog.ts";
import { whileBusy } from "./whileBusy.ts";

export interface KeptLogsOptions {
  readonly storage: LogStorage;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /** How long an unused log stays open, in milliseconds. Defaults to 5,000. */
  readonly idleMs?: number | undefined;
  /** How long to wait for a log with another owner, in milliseconds. Defaults to 10,000. */
  readonly waitMs?: number | undefined;
}

const stopReason = "another process or another instance waits for this log";
/** An idle owner releases a log within 250 ms. */
const pauseMs = 50;

/**
 * Logs of one shape that stay open between their uses, because opening a log reads its state. An unused log is released
 * soon after another process requests it.
 */
export class KeptLogs<Rec extends LogRecord, State extends ShapeState<Rec>> implements AsyncDisposable {
  readonly #shape: LogShape<Rec, State>;
  readonly #options: { readonly [Name in keyof KeptLogsOptions]-?: NonNullable<KeptLogsOptions[Name]> };
  readonly #kept = new Map<string, KeptLog<Rec, State>>();
  readonly #ending = new Map<string, Promise<void>>();

  constructor(
    shape: LogShape<Rec, State>,
    { storage, clock = systemClock, idleMs = 5_000, waitMs = 10_000 }: KeptLogsOptions,
  ) {
    this.#shape = shape;
    this.#options = { storage, clock, idleMs, waitMs };
  }

  /** Returns the log if it is open and accepts appends. The next {@link use} in this turn gets the same log. */
  opened(id: string): ShapedLog<Rec, State> | undefined {
    return this.#kept.get(id)?.log;
  }

  /**
   * Opens a log if necessary and calls `work` with it. Concurrent uses share one log. For an open log, `work` is called
   * before the next turn of the event loop.
   *
   * @throws AgentBusyError if another owner does not release the log in time, and the errors of {@link ShapedLog.open}.
   */
  async use<Result>(id: string, work: (log: ShapedLog<Rec, State>) => Promise<Result>): Promise<Result> {
    const kept = this.#enter(id);
    try {
      return await work(await kept.opening);
    } finally {
      kept.leave();
    }
  }

  /**
   * Keeps a log open until the resolved object is disposed. Other processes do not get it meanwhile. Throws like {@link
   * use}.
   */
  async hold(id: string): Promise<AsyncDisposable> {
    const kept = this.#enter(id);
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) kept.leave();
      isHeld = false;
    };
    try {
      await kept.opening;
    } catch (error) {
      leave();
      throw error;
    }
    return { [Symbol.asyncDispose]: async () => leave() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = [...this.#kept.values()].map((kept) => kept.end());
    await Promise.all([...ended, ...this.#ending.values()]);
  }

  #enter(id: string): KeptLog<Rec, State> {
    const known = this.#kept.get(id);
    if (known?.isBroken) known.end().catch(() => {});
    const kept = this.#kept.get(id) ?? this.#keep(id);
    kept.enter();
    return kept;
  }

  #keep(id: string): KeptLog<Rec, State> {
    const { clock, idleMs } = this.#options;
    const open = () => this.#open(id);
    const onEnd = (ended: Promise<void>): void => {
      if (this.#kept.get(id) === kept) this.#kept.delete(id);
      this.#ending.set(id, ended);
      void ended.then(() => this.#ending.get(id) === ended && this.#ending.delete(id));
    };
    const kept: KeptLog<Rec, State> = new KeptLog({ clock, idleMs, open, onEnd });
    this.#kept.set(id, kept);
    return kept;
  }

  async #open(id: string): Promise<ShapedLog<Rec, State>> {
    const { storage, clock, waitMs: timeoutMs } = this.#options;
    // Lets a caller that does not wait, such as a graph, continue before the slow open.
    await nextTurn();
    await this.#ending.get(id);
    const open = () => ShapedLog.open(this.#shape, { storage, id, clock });
    const logId = logIdOf(this.#shape, id);
    const log = await whileBusy(open, { clock, timeoutMs, pauseMs }, async () => {
      // Repeats the request at each try, because another process may take the log in the meantime.
      await storage.log.requestStop(logId, stopReason);
      return false;
    });
    return log as ShapedLog<Rec, State>;
  }
}
