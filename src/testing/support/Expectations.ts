import { ConformanceError } from "../../errors/testing/ConformanceError.ts";
import { describeValue } from "./describeValue.ts";
import { firstDifference } from "./firstDifference.ts";

/** What a conformance test expects. Knows no test runner, so that any can run it. */
export class Expectations {
  readonly #requirement: string;

  constructor(requirement: string) {
    this.#requirement = requirement;
  }

  /** Equal as JSON, bytes included; a member that is `undefined` is an absent one. */
  equal(subject: string, found: unknown, expected: unknown): void {
    const difference = firstDifference(expected, found);
    if (difference === undefined) return;
    const place = difference.path === "" ? subject : `${subject} at ${difference.path}`;
    this.fail(place, describeValue(difference.expected), describeValue(difference.found));
  }

  /** @returns the error, when it has the code. */
  async rejects(subject: string, call: () => Promise<unknown>, code: string): Promise<unknown> {
    const error = await this.rejectsAnyhow(subject, call);
    const found = (error as { readonly code?: unknown } | undefined)?.code;
    if (found !== code) this.fail(subject, `an error with the code ${code}`, describeValue(error));
    return error;
  }

  /** @returns the error, whatever it is. */
  async rejectsAnyhow(subject: string, call: () => Promise<unknown>): Promise<unknown> {
    let result: unknown;
    try {
      result = await call();
    } catch (error) {
      return error;
    }
    return this.fail(subject, "an error", describeValue(result));
  }

  isTrue(subject: string, holds: boolean, expected: string, found: unknown): void {
    if (!holds) this.fail(subject, expected, describeValue(found));
  }

  fail(subject: string, expected: string, found: string): never {
    throw new ConformanceError(this.#requirement, subject, expected, found);
  }
}
