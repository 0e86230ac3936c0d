import { nextTurn } from "../../internal/nextTurn.ts";

/** The pending work of a visit. */
interface VisitWork {
  /** Resolves when no work can continue but the given number of works that wait for their turn. */
  atRest(blocked: () => number): Promise<void>;
  /** Reports that the number of waiting works has changed. */
  recheck(): void;
}

/**
 * Delivers the recorded ends of a visit one at a time, in the order of the log, so that a repeated node sees them in
 * the same order as before. The code that awaits an end has a turn of the event loop before the next end.
 */
export class EndOrder {
  /** The undelivered ends, in the order of the log. */
  readonly #left = new Set<string>();
  /** The works that have ended and wait for their turn. */
  readonly #ready = new Map<string, { readonly go: () => void; readonly group: unknown }>();
  readonly #work: VisitWork;
  #isDelivering = false;
  #isResting = false;

  constructor(work: VisitWork) {
    this.#work = work;
  }

  /** Adds a recorded end. Call it in the order of the log. */
  add(key: string): void {
    this.#left.delete(key);
    this.#left.add(key);
  }

  /** Forgets the ends that no work has reached, because the node takes another way. */
  forgetUnreached(): void {
    for (const key of this.#left) if (!this.#ready.has(key)) this.#left.delete(key);
    this.#next();
  }

  /**
   * Calls `deliver` when all earlier ends are delivered. An end that was not added is delivered at once.
   *
   * @param group the value that consecutive ends have in common if the node awaits them together. They need one turn.
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

  /** The node does not reach the earlier ends any more, for example because its code has changed. */
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
