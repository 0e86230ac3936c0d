import { ConformanceError } from "../../errors/testing/ConformanceError.ts";
import type { ConformanceTest } from "./ConformanceTest.ts";
import { describeValue } from "./describeValue.ts";
import { Expectations } from "./Expectations.ts";

/** A test whose every failure is a `ConformanceError`, also one that the storage throws by itself. */
export function defineConformanceTest<Made, Subject>(
  name: string,
  prepare: (made: Made) => Subject,
  body: (subject: Subject, expect: Expectations) => Promise<void>,
): ConformanceTest<Made> {
  return {
    name,
    async run(make) {
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
