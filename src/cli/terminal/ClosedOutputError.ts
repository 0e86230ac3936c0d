/** Whoever read the answer has enough of it, as `head` has. */
export class ClosedOutputError extends Error {
  constructor(options?: ErrorOptions) {
    super("The reader of standard output has gone.", options);
    this.name = "ClosedOutputError";
  }
}
