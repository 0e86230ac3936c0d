import type { z } from "zod";
import { customSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { warn } from "../../internal/warn.ts";

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
export class TestLeftOut extends Error {}

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
export function warnOfLeftOut(part: string): void {
  if (warnedOf.has(part)) return;
  warnedOf.add(part);
  warn("conformance_left_out", `A conformance suite leaves out what needs ${part}`);
}
