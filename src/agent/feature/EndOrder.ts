import { nextTurn } from "../../internal/nextTurn.ts";

interface VisitWork {
  /** Resolves when only blocked work is left. `blocked` returns how many results wait for earlier ones. */
  atRest(blocked: () => number): Promise<void>;
  /** Reports that the number of blocked results has changed. */
  recheck(): void;
}

/**
 * Delivers the recorded results of a node one at a time, in log order, so that a repeated node sees them in the same
 * order as before. After each result, the awaiting code gets one turn of the event loop before the next result.
 */
export class EndOrder {
  /** The keys of the undelivered results, in log order. */
  readonly #left = new Set<string>();
  /** The results that are ready but wait for earlier results, by key. */
  readonly #ready = new Map<string, { readonly go: () => void; readonly group: unknown }>();
  readonly #work: VisitWork;
  /** The key of the newest recorded result. */
  last: string | undefined;
  #isDelivering = false;
  #isResting = false;

  constructor(work: VisitWork) {
    this.#work = work;
  }

  /** Adds a recorded result. Call it in log order. */
  add(key: string): void {
    this.#left.delete(key);
    this.#left.add(key);
    this.last = key;
  }

  /** Removes the results that the repeated node has not requested, because it requests other results now. */
  forgetUnreached(): void {
    for (const key of this.#left) if (!this.#ready.has(key)) this.#left.delete(key);
    this.#next();
  }

  /**
   * Calls `deliver` after all earlier results are delivered. Results that are not recorded are delivered immediately.
   *
   * @param group An object that consecutive results share if the node awaits them together. They are delivered in one
   *   turn.
   */
  async deliver<Result>(key: string, deliver: () => Result | Promise<Result>, group?: object): Promise<Result> {
    if (!this.#left.has(key)) return deliver();
    await new Promise<void>((go) => {
      this.#ready.set(key, { go, group });
      this.#work.recheck();
      this.#next();
    });
    try {
      return await deliver();
    } finally {
      const [next = ""] = this.#left;
      if (group && this.#ready.get(next)?.group === group) this.#go(next);
      else
        void nextTurn().then(() => {
          this.#isDelivering = false;
          this.#next();
        });
    }
  }

  #next(): void {
    const [first] = this.#left;
    if (first === undefined || this.#isDelivering || this.#ready.size === 0) return;
    if (this.#ready.has(first)) this.#go(first);
    else if (!this.#isResting) void this.#goAtRest();
  }

  #go(key: string): void {
    const ready = this.#ready.get(key);
    this.#ready.delete(key);
    this.#left.delete(key);
    this.#isDelivering = true;
    ready?.go();
  }

  /** Skips earlier results that the node no longer requests, for example because its code has changed. */
  async #goAtRest(): Promise<void> {
    this.#isResting = true;
    await this.#work.atRest(() => this.#ready.size);
    this.#isResting = false;
    if (this.#isDelivering) return;
    for (const key of this.#left) {
      if (this.#ready.has(key)) return this.#go(key);
      this.#left.delete(key);
    }
  }
}
