import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { abortable } from "../../internal/abortable.ts";
import { isAgentId } from "../../internal/options/assertAgentId.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";
import { type ShapeDefinition, logIdOf, type ShapeState } from "./ShapeDefinition.ts";
import type { ShapeViews } from "./readShape.ts";
import { ShapedLog } from "./ShapedLog.ts";
import { whileBusy } from "./whileBusy.ts";
import { StopRequestedError } from "../../errors/runErrors.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { isAboutOneAgent } from "../../storage/summaries.ts";

/** How often an idle owner checks whether another process waits for its log, in milliseconds. */
const [lookEveryMs, longestLookMs] = [75, 1_000];
/** The time between the checks of all kept logs, in milliseconds. With many logs, each is checked less often. */
const betweenLooksMs = 5;

interface KeptLogsOptions {
  readonly storage: LogStorage;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /** How long an unused log stays open, in milliseconds. With 0, it is closed at the end of {@link KeptLogs.use}. */
  readonly idleMs?: number | undefined;
  /** How long to wait while another process owns a log, in milliseconds. Defaults to 10,000. */
  readonly waitMs?: number | undefined;
}

interface KeptLogsViews<Rec extends LogRecord, State extends ShapeState<Rec>> {
  /** Caches the states of released logs, so that a log is read only from its last known append on. */
  readonly views?: ShapeViews<Rec, State> | undefined;
}

const stopReason = "another process or another instance waits for this log";
/** The pause between two attempts to open a log, in milliseconds. An idle owner of few logs releases a log within 250 ms. */
const pauseMs = 50;

/** Logs of one kind that stay open between their uses, until another process needs them. */
export class KeptLogs<Rec extends LogRecord, State extends ShapeState<Rec>> implements AsyncDisposable {
  readonly #shape: ShapeDefinition<Rec, State>;
  readonly #options: { readonly [Name in keyof KeptLogsOptions]-?: NonNullable<KeptLogsOptions[Name]> };
  readonly #views: ShapeViews<Rec, State> | undefined;
  readonly #kept = new Map<string, KeptLog<Rec, State>>();
  readonly #ending = new Map<string, Promise<void>>();

  constructor(
    shape: ShapeDefinition<Rec, State>,
    {
      storage,
      clock = systemClock,
      idleMs = 5_000,
      waitMs = 10_000,
      views,
    }: KeptLogsOptions & KeptLogsViews<Rec, State>,
  ) {
    this.#shape = shape;
    this.#views = views;
    this.#options = { storage, clock, idleMs, waitMs };
  }

  /** Returns the log if it is open and accepts appends. A {@link use} right after this call gets the same log. */
  opened(id: string): ShapedLog<Rec, State> | undefined {
    return this.#kept.get(id)?.log;
  }

  /**
   * Opens a log if necessary and calls `work` with it. Concurrent uses share one log. `signal` ends the wait for
   * another owner.
   *
   * @throws AgentBusyError, and the errors of {@link ShapedLog.open}
   */
  async use<Result>(
    id: string,
    work: (log: ShapedLog<Rec, State>) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const kept = this.#enter(id);
    try {
      return await work(await (signal ? abortable(signal, () => kept.opening) : kept.opening));
    } finally {
      await kept.leave();
    }
  }

  /** Keeps a log open, and owned by this process, until the result is disposed. @throws the errors of {@link use}. */
  async hold(id: string): Promise<AsyncDisposable> {
    const kept = this.#enter(id);
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) void kept.leave();
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
    const kept: KeptLog<Rec, State> = new KeptLog({ clock, idleMs, open, onEnd, all: this.#kept });
    this.#kept.set(id, kept);
    return kept;
  }

  async #open(id: string): Promise<ShapedLog<Rec, State>> {
    const { storage, clock, waitMs: timeoutMs } = this.#options;
    // Read at once: an end of the new log waits for this opening, which must not wait for that end.
    const ending = this.#ending.get(id);
    // Lets the caller, such as a graph, continue first, because opening is slow.
    await nextTurn();
    await ending;
    const open = () => ShapedLog.open(this.#shape, { storage, id, clock, views: this.#views });
    const logId = logIdOf(this.#shape, id);
    // The request is repeated, because yet another process can take the log between two attempts.
    const onBusy = () => storage.log.requestStop(logId, stopReason);
    const log = await whileBusy(open, { clock, timeoutMs, pauseMs }, onBusy);
    return log as ShapedLog<Rec, State>;
  }
}

interface Options<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly open: () => Promise<ShapedLog<Rec, State>>;
  /** Called when the log is closed. `ended` resolves when the log is released. */
  readonly onEnd: (ended: Promise<void>) => void;
  readonly all: { readonly size: number };
}

/** A log that stays open until another process requests the log, the log is idle for too long, or an append fails. */
class KeptLog<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly opening: Promise<ShapedLog<Rec, State>>;
  readonly #options: Options<Rec, State>;
  #log: ShapedLog<Rec, State> | undefined;
  #users = 0;
  #idleSince = 0;
  #cancelLook = (): void => {};
  #ending: Promise<void> | undefined;

  constructor(options: Options<Rec, State>) {
    this.#options = options;
    this.opening = this.#open();
    // The user of the log gets the error. A log that could not be opened is not released.
    this.opening.catch(() => this.#endUnheard());
  }

  get log(): ShapedLog<Rec, State> | undefined {
    return this.#log && isWritable(this.#log) ? this.#log : undefined;
  }

  /** True if an append failed or another owner has the log. The log must then be opened again. */
  get isBroken(): boolean {
    return this.#log !== undefined && !isWritable(this.#log);
  }

  enter(): void {
    this.#users++;
    this.#cancelLook();
  }

  /** Ends a use. Resolves after the release if this was the last use and the log does not stay open. */
  async leave(): Promise<void> {
    this.#users--;
    if (this.#log) return this.#rest(this.#log);
    // The use was aborted before the log was open.
    this.opening.then((log) => this.#rest(log)).catch(() => {});
  }

  async #rest({ lost }: ShapedLog<Rec, State>): Promise<void> {
    if (this.#users > 0 || this.#ending) return;
    if (this.isBroken || lost.aborted) return this.#endUnheard();
    // The callers of the failed append already got the error.
    if (this.#options.idleMs === 0) return this.end().catch(() => {});
    this.#idleSince = this.#options.clock.monotonic();
    this.#lookLater();
  }

  /** Releases the log. Rejects if appended records are not durable. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  #end(): Promise<void> {
    this.#cancelLook();
    const ended = this.opening.then(
      (log) => log[Symbol.asyncDispose](),
      () => {},
    );
    this.#options.onEnd(ended.catch(() => {}));
    return ended;
  }

  async #open(): Promise<ShapedLog<Rec, State>> {
    const log = await this.#options.open();
    this.#log = log;
    log.lost.addEventListener("abort", () => this.#users === 0 && this.#endUnheard(), { once: true });
    return log;
  }

  /** Ignores a failed release, because the callers of a failed append already got the error. */
  #endUnheard(): void {
    this.end().catch(() => {});
  }

  #lookLater(): void {
    this.#cancelLook();
    const { clock, all } = this.#options;
    const lookMs = Math.min(longestLookMs, Math.max(lookEveryMs, betweenLooksMs * all.size));
    this.#cancelLook = clock.after(lookMs, () => void this.#look(), true);
  }

  async #look(): Promise<void> {
    if (this.#users > 0 || this.#ending) return;
    const { clock, idleMs } = this.#options;
    if (clock.monotonic() - this.#idleSince >= idleMs) return this.#endUnheard();
    // After a storage error, checks again later. If another process has requested the log, that check ends it.
    await this.#log?.checkStop().catch(() => {});
    if (this.#users === 0 && !this.#ending) this.#lookLater();
  }
}

function isWritable({ failed, lost }: { readonly failed: boolean; readonly lost: AbortSignal }): boolean {
  return !failed && (!lost.aborted || lost.reason instanceof StopRequestedError);
}

/** The maximum time to wait for the owner of a deleted log. Longer than the lease of a killed process. */
const dropWaitMs = 30_000;

/**
 * Deletes a log without decoding it, because it may be unreadable. Finishes an interrupted deletion. `agentId` is the
 * stored id.
 *
 * @throws AgentBusyError
 */
export async function dropUnread(log: RecordLog, agentId: string): Promise<void> {
  const { folder, archiveKeys, redacted } = log.capabilities;
  if (!isAgentId(agentId)) return;
  const canHaveRemains = folder !== undefined || archiveKeys !== undefined || redacted;
  if (!canHaveRemains && !(await exists(log, agentId))) return;
  const open = () => log.open(agentId, { ...processOwner(), mustExist: true, drops: true });
  const owned = await whileBusy(open, { clock: systemClock, timeoutMs: dropWaitMs });
  try {
    await owned?.drop();
  } finally {
    await owned?.release();
  }
}

async function exists(log: RecordLog, agentId: string): Promise<boolean> {
  try {
    for await (const _ of log.read(agentId, { sinceSnapshot: true })) return true;
    return false;
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return true;
  }
}
