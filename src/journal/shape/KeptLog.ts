import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { ShapeState } from "./LogShape.ts";
import type { ShapedLog } from "./ShapedLog.ts";

/** How often an owner with nothing to do looks whether another waits for its log. */
const lookEveryMs = 75;

interface Options<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly open: () => Promise<ShapedLog<Rec, State>>;
  /** Called when it is no longer kept, with when it has been given back. */
  readonly onEnd: (ended: Promise<void>) => void;
}

/** One log that is kept open between its uses: until another asks for it, it was idle for some time, or an append has failed. */
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
    // Who uses it is told. It was not opened, so nothing is to be given back.
    this.opening.catch(() => this.#endUnheard());
  }

  /** The log, if it is open and takes appends. */
  get log(): ShapedLog<Rec, State> | undefined {
    return this.#log && isWritable(this.#log) ? this.#log : undefined;
  }

  /** Whether an append has failed, or another owner has the log: it has to be opened anew. */
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

  /** Gives the log back. Rejects when what was appended is not durable. */
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

  /** A failure to give it back concerns nobody: those who appended were told. */
  #endUnheard(): void {
    this.end().catch(() => {});
  }

  #lookLater(): void {
    this.#cancelLook = this.#options.clock.after(lookEveryMs, () => void this.#look(), true);
  }

  /** Between uses only. */
  async #look(): Promise<void> {
    const { clock, idleMs } = this.#options;
    if (clock.monotonic() - this.#idleSince >= idleMs) return this.#endUnheard();
    // A storage that cannot be asked now is asked again; if it asks for the log, that ends it.
    await this.#log?.checkStop().catch(() => {});
    if (this.#users === 0 && !this.#ending) this.#lookLater();
  }
}

function isWritable({ failed, lost }: { readonly failed: boolean; readonly lost: AbortSignal }): boolean {
  return !failed && (!lost.aborted || lost.reason instanceof StopRequestedError);
}
