/** Runs actions one at a time in call order. A failed action does not stop the next one. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  runExclusive<Result>(action: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(action);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Runs actions with the same key one at a time in call order. A failed action does not stop the next one. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  runExclusive<Result>(key: string, action: () => Promise<Result>): Promise<Result> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(action);
    const forget = () => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    };
    const ended: Promise<void> = turn.then(forget, forget);
    this.#last.set(key, ended);
    return turn;
  }
}
