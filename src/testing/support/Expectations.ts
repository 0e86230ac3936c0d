import { keyPath } from "../../checkpoint/values/unsupportedShape.ts";
import { ConformanceError } from "../../errors/testingErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { functionSchema, withArticle, customSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import type { z } from "zod";
import { warn } from "../../internal/warn.ts";

/** The assertions of conformance tests, independent of a test runner. */
export class Expectations {
  readonly #requirement: string;

  constructor(requirement: string) {
    this.#requirement = requirement;
  }

  /** Compares values as JSON, including bytes. A member with the value `undefined` equals a missing member. */
  equal(subject: string, found: unknown, expected: unknown): void {
    const difference = firstDifference(expected, found);
    if (difference === undefined) return;
    const place = difference.path === "" ? subject : `${subject} at ${difference.path}`;
    this.fail(place, describeValue(difference.expected), describeValue(difference.found));
  }

  /** @returns the error if it has the code. */
  async rejects(subject: string, call: () => Promise<unknown>, code: string): Promise<unknown> {
    const error = await this.rejectsAnyhow(subject, call);
    const found = (error as { readonly code?: unknown } | undefined)?.code;
    if (found !== code) this.fail(subject, `an error with the code ${code}`, describeValue(error));
    return error;
  }

  async rejectsAnyhow(subject: string, call: () => Promise<unknown>): Promise<unknown> {
    let result: unknown;
    try {
      result = await call();
    } catch (error) {
      // A missing control has ended the test, so the storage did not reject.
      if (error instanceof TestLeftOut) throw error;
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

const longest = 160;

/** Returns a short description of any value for an error. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "absent";
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  const text = textOf(value);
  return text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`;
}

function textOf(value: unknown): string {
  if (value instanceof Error) return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object") return jsonOf(value) ?? withArticle(typeof value);
  const type = Object.prototype.toString.call(value).slice(8, -1);
  const text = jsonOf(value);
  const isPlain = value === null || type === "Object" || type === "Array";
  return isPlain && text !== undefined ? text : `${type} ${text ?? "that is not JSON"}`;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch {
    return undefined;
  }
}

export interface Difference {
  /** For example `.storage["a b"][3]`. Empty for the values themselves. */
  readonly path: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/** Compares values like JSON, and bytes by content. Ignores `undefined` members and the order of keys. */
export function firstDifference(expected: unknown, found: unknown, path = ""): Difference | undefined {
  if (expected === found) return undefined;
  if (!isContainer(expected) || !isContainer(found) || kindOf(expected) !== kindOf(found))
    return { path, expected, found };
  if (expected instanceof Uint8Array) return sameBytes(expected, found) ? undefined : { path, expected, found };
  for (const key of new Set([...presentKeys(expected), ...presentKeys(found)])) {
    const at = Array.isArray(expected) ? `${path}[${key}]` : path + keyPath(key);
    const difference = firstDifference(ownMember(expected, key), ownMember(found, key), at);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Arrays, bytes and plain objects equal values of their kind. Instances of classes never match. */
function kindOf(value: object): unknown {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Uint8Array) return "bytes";
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype ? "an object" : value;
}

function presentKeys(value: object): string[] {
  return Object.keys(value).filter((key) => ownMember(value, key) !== undefined);
}

function ownMember(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

function sameBytes(expected: Uint8Array, found: object): boolean {
  return (
    found instanceof Uint8Array &&
    found.length === expected.length &&
    expected.every((byte, index) => byte === found[index])
  );
}

/** Defines a test that converts all failures to `ConformanceError`, including errors of the storage. */
export function defineConformanceTest<Made, Subject>(
  name: string,
  prepare: (made: Made, leftOut: LeftOutParts) => Subject,
  body: (subject: Subject, expect: Expectations) => Promise<void>,
): ConformanceTest<Made> {
  return {
    name,
    async run(make, onLeftOut = warnOfLeftOut) {
      checkSchema(functionSchema(), make, `make of the test ${JSON.stringify(name)}`);
      checkSchema(functionSchema(), onLeftOut, `onLeftOut of the test ${JSON.stringify(name)}`);
      const leftOut = new LeftOutParts();
      const subject = prepare(await make(), leftOut);
      await body(subject, new Expectations(name)).catch((error: unknown) => {
        if (error instanceof TestLeftOut) return;
        if (error instanceof ConformanceError) throw error;
        throw new ConformanceError(name, "what it threw", "nothing", describeValue(error), { cause: error });
      });
      for (const part of leftOut.all) onLeftOut(part);
    },
  };
}

/**
 * One test of a conformance suite, for any test runner.
 *
 * @example
 * ```ts
 * for (const test of suite) it(test.name, () => test.run(make));
 * ```
 */
export interface ConformanceTest<Made> {
  /** The requirement for the storage, unique in its suite. */
  readonly name: string;
  /**
   * Resolves if the storage meets the requirement.
   *
   * @param make - called once, returns an empty storage. Errors of this function are passed on.
   * @param onLeftOut - called at the end for each part that the test skipped, because the harness or the capabilities
   * leave it out. Receives the member and the reason, such as `reopen: the harness has none`. Errors of this function
   * are passed on. Defaults to one process warning per reason with the code `conformance_left_out`.
   * @throws ConformanceError with the expected and the actual value.
   */
  run(make: () => Made | PromiseLike<Made>, onLeftOut?: (part: string) => void): Promise<void>;
}

/** Replaces a control that the storage does not support. */
export interface LeftOut {
  /** The reason, for people. Not empty. */
  readonly leftOut: string;
}

const leftOutSchema = strictOptions(() => ({ leftOut: nonEmptyString }));

export const functionOrLeftOut: z.ZodType = customSchema(
  "a function, or { leftOut: the reason }",
  (member) => typeof member === "function" || leftOutSchema.safeParse(member).success,
);

/** Ends a test that requires a missing control. */
class TestLeftOut extends Error {}

export class LeftOutParts {
  readonly #parts = new Set<string>();

  get all(): readonly string[] {
    return [...this.#parts];
  }

  add(member: string, { leftOut }: LeftOut): void {
    this.#parts.add(`${member}: ${leftOut}`);
  }

  end(member: string, reason: LeftOut): never {
    this.add(member, reason);
    throw new TestLeftOut(member);
  }
}

const warnedOf = new Set<string>();

/** Reports a skipped part as a process warning, once per reason. */
function warnOfLeftOut(part: string): void {
  if (warnedOf.has(part)) return;
  warnedOf.add(part);
  warn("conformance_left_out", `A conformance suite skips the tests that need ${part}`);
}
