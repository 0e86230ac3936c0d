/** Runs actions one after another, in the order in which they were asked for; one that fails does not hold up the next. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  runExclusive<Result>(action: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(action);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
