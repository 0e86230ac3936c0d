/** The reader of the output has closed it, as `head` does. */
export class ClosedOutputError extends Error {
  constructor(options?: ErrorOptions) {
    super("The reader of standard output has gone.", options);
    this.name = "ClosedOutputError";
  }
}
