import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { LogStorage } from "../../storage/LogStorage.ts";
import { KeptLog } from "./KeptLog.ts";
import { type LogShape, logIdOf, type ShapeState } from "./LogShape.ts";
import { ShapedLog } from "./ShapedLog.ts";
import { whileBusy } from "./whileBusy.ts";

/** How long logs are kept open, and waited for. */
export interface KeptLogsOptions {
  readonly storage: LogStorage;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Milliseconds for which a log stays open that nobody uses. Default 5,000. */
  readonly idleMs?: number | undefined;
  /** Milliseconds to wait for a log that another owner has. Default 10,000. */
  readonly waitMs?: number | undefined;
}

const stopReason = "another process or another instance waits for this log";
/** An owner with nothing to do gives a log back within 250 ms. */
const pauseMs = 50;

/**
 * Logs of one shape that stay open between their uses: opening one reads its state. A log that nobody uses is given back soon
 * after another asks for it, in whichever process that is.
 */
export class KeptLogs<Rec extends LogRecord, State extends ShapeState<Rec>> implements AsyncDisposable {
  readonly #shape: LogShape<Rec, State>;
  readonly #options: { readonly [Name in keyof KeptLogsOptions]-?: NonNullable<KeptLogsOptions[Name]> };
  readonly #kept = new Map<string, KeptLog<Rec, State>>();
  /** Logs on their way back. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(
    shape: LogShape<Rec, State>,
    { storage, clock = systemClock, idleMs = 5_000, waitMs = 10_000 }: KeptLogsOptions,
  ) {
    this.#shape = shape;
    this.#options = { storage, clock, idleMs, waitMs };
  }

  /** The log, if it is open and takes appends: what the next {@link use} of this turn gets. */
  opened(id: string): ShapedLog<Rec, State> | undefined {
    return this.#kept.get(id)?.log;
  }

  /**
   * Uses a log, which is opened for it unless it is open. Several uses at a time share one. Of an open log, `work` is called
   * before the next turn of the event loop.
   *
   * @throws AgentBusyError when another owner does not give it back in time; what {@link ShapedLog.open} throws.
   */
  async use<Result>(id: string, work: (log: ShapedLog<Rec, State>) => Promise<Result>): Promise<Result> {
    const kept = this.#enter(id);
    try {
      return await work(await kept.opening);
    } finally {
      kept.leave();
    }
  }

  /** Keeps a log open until what it resolves to is disposed: nobody is given it meanwhile. Throws as {@link use}. */
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

  /** Gives all logs back. What was appended is stored first. */
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
    // Opening takes longer than anything else here. A caller that goes on without waiting, as a graph does, goes on first.
    await nextTurn();
    await this.#ending.get(id);
    const open = () => ShapedLog.open(this.#shape, { storage, id, clock });
    const logId = logIdOf(this.#shape, id);
    const log = await whileBusy(open, { clock, timeoutMs, pauseMs }, async () => {
      // Asked again at each try: another may have taken the log in the meantime.
      await storage.log.requestStop(logId, stopReason);
      return false;
    });
    // Nothing but the log itself ends the wait.
    return log as ShapedLog<Rec, State>;
  }
}
