/** Holds what passes until it is opened, and tells when something has come to it. */
export class Gate {
  open: () => void = () => undefined;
  readonly reached: Promise<void>;
  #reach: () => void = () => undefined;
  readonly #opened: Promise<void>;

  constructor() {
    this.#opened = new Promise((resolve) => (this.open = resolve));
    this.reached = new Promise((resolve) => (this.#reach = resolve));
  }

  pass(): Promise<void> {
    this.#reach();
    return this.#opened;
  }
}
