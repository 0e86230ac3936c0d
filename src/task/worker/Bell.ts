/** Wakes one that waits. What rings while nobody waits is heard by the next that does. */
export class Bell {
  #rang = false;
  #wake = (): void => {};

  readonly ring = (): void => {
    this.#rang = true;
    this.#wake();
  };

  /** Whether it has rung since it was last reset. */
  get rang(): boolean {
    return this.#rang;
  }

  /** Forgets what has rung so far. */
  reset(): void {
    this.#rang = false;
  }

  /** Resolves at the next ring; at once, if it has rung since it was last reset. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#rang) resolve();
    });
  }
}
