/** Wakes a waiting caller. A ring without a waiting caller wakes the next one. */
export class Bell {
  #rang = false;
  #wake = (): void => {};

  readonly ring = (): void => {
    this.#rang = true;
    this.#wake();
  };

  get rang(): boolean {
    return this.#rang;
  }

  reset(): void {
    this.#rang = false;
  }

  /** Resolves at the next ring, or immediately if the bell rang since the last reset. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#rang) resolve();
    });
  }
}
