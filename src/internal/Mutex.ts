/** Runs actions one at a time, in the order of the calls; a failed action does not stop the next. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  runExclusive<Result>(action: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(action);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
