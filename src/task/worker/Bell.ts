/** Wakes a waiting caller. If no caller waits, the ring wakes the next caller that waits. */
export class Bell {
  #rang = false;
  #hasNews = false;
  #wake = (): void => {};

  readonly ring = (): void => {
    this.#hasNews = true;
    this.ringWithoutNews();
  };

  /** Rings although there are no new tasks: the caller already knows the tasks that it may start. */
  ringWithoutNews(): void {
    this.#rang = true;
    this.#wake();
  }

  get rang(): boolean {
    return this.#rang;
  }

  /** Returns whether a ring since the last reset may be about an unknown task. */
  reset(): boolean {
    const hadNews = this.#hasNews;
    this.#rang = this.#hasNews = false;
    return hadNews;
  }

  /** Resolves at the next ring, or immediately if the bell rang since the last reset. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#rang) resolve();
    });
  }
}
