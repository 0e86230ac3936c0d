import { ConformanceError } from "../../src/errors/testingErrors.ts";
import type { ConformanceTest } from "../../src/testing/support/Expectations.ts";

/** The tests of a suite that a storage fails, each with its error. */
export async function failuresOf<Made>(
  suite: readonly ConformanceTest<Made>[],
  make: () => Made | PromiseLike<Made>,
): Promise<ReadonlyMap<string, unknown>> {
  const failures = new Map<string, unknown>();
  for (const test of suite) await test.run(make).catch((error: unknown) => failures.set(test.name, error));
  return failures;
}

/** Those that did not fail by a `ConformanceError` which names its test. */
export function illToldFailures(failures: ReadonlyMap<string, unknown>): unknown[] {
  return [...failures]
    .filter(([name, error]) => !(error instanceof ConformanceError && error.requirement === name))
    .map(([, error]) => error);
}
