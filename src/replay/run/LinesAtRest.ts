import { nextTurn } from "../../internal/nextTurn.ts";

interface Hold {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A line of the replayed run that has not ended. */
export class ReplayedLine {
  readonly nested = new Set<ReplayedLine>();
  #holds: Hold[] = [];

  constructor(readonly parent?: ReplayedLine) {
    parent?.nested.add(this);
  }

  get isAtRest(): boolean {
    if (this.#holds.length === 0 && this.nested.size === 0) return false;
    return [...this.nested].every((line) => line.isAtRest);
  }

  hold(): Promise<void> {
    return new Promise((resolve, reject) => this.#holds.push({ resolve, reject }));
  }

  release(reason?: { readonly error: unknown }): void {
    const holds = this.#holds;
    this.#holds = [];
    for (const { resolve, reject } of holds) {
      if (reason) reject(reason.error);
      else resolve();
    }
  }

  end(): void {
    this.parent?.nested.delete(this);
  }
}

export function* allLines(line: ReplayedLine): Generator<ReplayedLine> {
  yield line;
  for (const nested of line.nested) yield* allLines(nested);
}

/** Detects when no line of a replayed run can continue, because every line has reached the end of its recording. */
export class LinesAtRest {
  readonly #root: () => ReplayedLine | undefined;
  readonly #onRest: () => void;
  #ticks = 0;
  #isWatching = false;

  constructor(root: () => ReplayedLine | undefined, onRest: () => void) {
    this.#root = root;
    this.#onRest = onRest;
  }

  /** Reports that a line has done something. */
  tick(): void {
    this.#ticks++;
  }

  async watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    for (let seen = -1; this.#root()?.isAtRest && seen !== this.#ticks;) {
      seen = this.#ticks;
      await nextTurn();
      await nextTurn();
    }
    this.#isWatching = false;
    if (this.#root()?.isAtRest) this.#onRest();
  }
}
