/** Ends a replayed run at its divergence or at the end of its recording. */
export class ReplayStop extends Error {
  override readonly name = "ReplayStop";

  constructor() {
    super("The replay has ended.");
  }
}
