import { z } from "zod";
import type { Clock } from "../Clock.ts";
import type { Sha256 } from "../sha256/Sha256.ts";
import { withArticle } from "./withArticle.ts";

/** For what zod has no schema; a refusal says that `what` was expected. */
export function customSchema<Value>(what: string, isRight: (value: unknown) => boolean): z.ZodType<Value> {
  return z.custom<Value>(isRight, {
    error: ({ input }) => `expected ${what}, received ${kindOf(input)}`,
  });
}

/** An object that is no instance of a class: what such an object inherits would pass the checks and then be ignored. */
export const plainObject: z.ZodType<object> = customSchema("a plain object", isPlain);

/** An object with these methods. */
export function objectWithMethods<Value>(...names: readonly (keyof Value & string)[]): z.ZodType<Value> {
  const isRight = (value: unknown) =>
    Object(value) === value && names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
  return customSchema(`an object with ${names.join(", ")}`, isRight);
}

/** Any function: what it takes and gives is seen when it is called. */
export function functionSchema<Value>(): z.ZodType<Value> {
  return customSchema("a function", (value) => typeof value === "function");
}

/** A number from `least` on; `Infinity` says that there is no limit. */
export function numberFrom(least: number): z.ZodType<number> {
  return customSchema(`a number from ${least} on`, (value) => typeof value === "number" && value >= least);
}

/** A whole number from `least` on; `Infinity` says that there is no limit. */
export function integerFrom(least: number): z.ZodType<number> {
  const isWhole = (value: unknown) => Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
  return customSchema(`a whole number from ${least} on`, (value) => isWhole(value) && Number(value) >= least);
}

/** Text that is not empty. */
export const nonEmptyString: z.ZodType<string> = z.string().min(1);

export const abortSignalSchema: z.ZodType<AbortSignal> = objectWithMethods("throwIfAborted", "addEventListener");

export const clockSchema: z.ZodType<Clock> = objectWithMethods("now", "monotonic", "after");

export const sha256Schema: z.ZodType<Sha256> = objectWithMethods("base64url", "hex");

/** A schema of zod, whichever copy of it made it. */
export const zodSchema: z.ZodType<z.ZodType> = objectWithMethods<z.ZodType>("safeParse", "safeParseAsync");

/** What a value is, as error messages say it: "array", "a Map", "an instance of Settings". */
export function kindOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (value === null) return "null";
  if (typeof value !== "object" || isPlain(value)) return typeof value;
  if (Array.isArray(value)) return "array";
  if (value instanceof Promise) return "a Promise (did you forget `await`?)";
  const builtIn = Object.prototype.toString.call(value).slice(8, -1);
  if (builtIn !== "Object") return withArticle(builtIn);
  return `an instance of ${value.constructor?.name ?? "an unnamed class"}`;
}

/** Whether an object is no instance of a class: only `Object.prototype`, of any realm, has `isPrototypeOf` of its own. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.hasOwn(prototype as object, "isPrototypeOf");
}
