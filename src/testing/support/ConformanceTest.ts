/**
 * One test of a conformance suite, for any test runner:
 *
 *     for (const test of suite) it(test.name, () => test.run(() => new MyStorage()));
 */
export interface ConformanceTest<Made> {
  /** What the storage must do; unique in its suite. */
  readonly name: string;
  /**
   * Resolves when the storage does it.
   *
   * @param make called once: gives a storage that holds nothing yet. What it rejects with is passed on.
   * @throws ConformanceError says what was expected and what was found.
   */
  run(make: () => Made | PromiseLike<Made>): Promise<void>;
}
