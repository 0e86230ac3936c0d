/** Runs actions one at a time in call order. A failed action does not stop the next one. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  runExclusive<Result>(action: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(action);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
