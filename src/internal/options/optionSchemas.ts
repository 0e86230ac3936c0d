import { z } from "zod";
import type { Clock } from "../Clock.ts";

/** For what zod has no schema; a refusal says that `what` was expected. */
export function expected<Value>(what: string, isRight: (value: unknown) => boolean): z.ZodType<Value> {
  return z.custom<Value>(isRight, {
    error: ({ input }) => `Invalid input: expected ${what}, received ${kindOf(input)}`,
  });
}

/** An object with these methods. */
export function withMethods<Value>(...names: readonly (keyof Value & string)[]): z.ZodType<Value> {
  const isRight = (value: unknown) =>
    Object(value) === value && names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
  return expected(`an object with ${names.join(", ")}`, isRight);
}

/** Any function: what it takes and gives is seen when it is called. */
export function someFunction<Value>(): z.ZodType<Value> {
  return expected("a function", (value) => typeof value === "function");
}

/** A number from `least` on; `Infinity` says that there is no limit. */
export function atLeast(least: number): z.ZodType<number> {
  return expected(`a number from ${least} on`, (value) => typeof value === "number" && value >= least);
}

/** A whole number from `least` on; `Infinity` says that there is no limit. */
export function wholeFrom(least: number): z.ZodType<number> {
  const isWhole = (value: unknown) => Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
  return expected(`a whole number from ${least} on`, (value) => isWhole(value) && Number(value) >= least);
}

/** Text that is not empty. */
export const someText: z.ZodType<string> = z.string().min(1);

export const someSignal: z.ZodType<AbortSignal> = withMethods("throwIfAborted", "addEventListener");

export const someClock: z.ZodType<Clock> = withMethods("now", "monotonic", "after");

/** A schema of zod, whichever copy of it made it. */
export const someSchema: z.ZodType<z.ZodType> = withMethods<z.ZodType>("safeParse", "safeParseAsync");

function kindOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
