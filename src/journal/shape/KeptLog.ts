import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { StopRequestedError } from "../../errors/runErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { ShapeState } from "./LogShape.ts";
import type { ShapedLog } from "./ShapedLog.ts";

/** How often an idle owner checks whether another process waits for its log, in milliseconds. */
const lookEveryMs = 75;

interface Options<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly open: () => Promise<ShapedLog<Rec, State>>;
  /** Called when the log is no longer kept. `ended` resolves when it is released. */
  readonly onEnd: (ended: Promise<void>) => void;
}

/**
 * A log that stays open between its uses. It is released if another process requests it, if it was idle for some time,
 * or if an append failed.
 */
export class KeptLog<Rec extends LogRecord, State extends ShapeState<Rec>> {
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
    // The user of the log gets the error. An unopened log needs no release.
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

  leave(): void {
    this.#users--;
    if (this.#users > 0 || this.#ending || !this.#log) return;
    if (this.isBroken || this.#log.lost.aborted) return this.#endUnheard();
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

  /** Ignores a failed release, because the callers that appended already got the error. */
  #endUnheard(): void {
    this.end().catch(() => {});
  }

  #lookLater(): void {
    this.#cancelLook = this.#options.clock.after(lookEveryMs, () => void this.#look(), true);
  }

  async #look(): Promise<void> {
    const { clock, idleMs } = this.#options;
    if (clock.monotonic() - this.#idleSince >= idleMs) return this.#endUnheard();
    // Ignores a storage error and checks again later. If another process requested the log, the next check ends it.
    await this.#log?.checkStop().catch(() => {});
    if (this.#users === 0 && !this.#ending) this.#lookLater();
  }
}

function isWritable({ failed, lost }: { readonly failed: boolean; readonly lost: AbortSignal }): boolean {
  return !failed && (!lost.aborted || lost.reason instanceof StopRequestedError);
}
