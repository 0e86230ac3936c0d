import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { ConformanceError } from "../../errors/testing/ConformanceError.ts";
import { describeValue, Expectations } from "./Expectations.ts";

/** A test whose every failure is a `ConformanceError`, also one that the storage throws by itself. */
export function defineConformanceTest<Made, Subject>(
  name: string,
  prepare: (made: Made) => Subject,
  body: (subject: Subject, expect: Expectations) => Promise<void>,
): ConformanceTest<Made> {
  return {
    name,
    async run(make) {
      checkSchema(functionSchema(), make, `make of the test ${JSON.stringify(name)}`);
      const subject = prepare(await make());
      try {
        await body(subject, new Expectations(name));
      } catch (error) {
        if (error instanceof ConformanceError) throw error;
        throw new ConformanceError(name, "what it threw", "nothing", describeValue(error), { cause: error });
      }
    },
  };
}

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
