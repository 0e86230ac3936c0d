import type { z } from "zod";
import { customSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { warn } from "../../internal/warn.ts";

/** In place of a member of a harness: this storage has no such thing. */
export interface LeftOut {
  /** Why, in words for people. Not empty. */
  readonly leftOut: string;
}

const leftOutSchema = strictOptions({ leftOut: nonEmptyString });

/** What a member of a harness is that may be left out. */
export const functionOrLeftOut: z.ZodType = customSchema(
  "a function, or { leftOut: the reason }",
  (member) => typeof member === "function" || leftOutSchema.safeParse(member).success,
);

/** Ends a test that cannot do without what was left out. */
export class TestLeftOut extends Error {}

/** What one test did not look at. */
export class LeftOutParts {
  readonly #parts = new Set<string>();

  get all(): readonly string[] {
    return [...this.#parts];
  }

  add(member: string, { leftOut }: LeftOut): void {
    this.#parts.add(`${member}: ${leftOut}`);
  }

  /** Names it and ends the test. */
  end(member: string, reason: LeftOut): never {
    this.add(member, reason);
    throw new TestLeftOut(member);
  }
}

const warnedOf = new Set<string>();

/** For runners that are not told of it otherwise. */
export function warnOfLeftOut(part: string): void {
  if (warnedOf.has(part)) return;
  warnedOf.add(part);
  warn("conformance_left_out", `A conformance suite leaves out what needs ${part}`);
}
