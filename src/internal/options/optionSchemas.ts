import { z } from "zod";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import type { Clock } from "../Clock.ts";
import type { Sha256 } from "../sha256/Sha256.ts";

/** Returns a schema with a custom check, whose error says that `what` was expected. */
export function customSchema<Value>(what: string, isRight: (value: unknown) => boolean): z.ZodType<Value> {
  return z.custom<Value>(isRight, {
    error: ({ input }) => `expected ${what}, received ${kindOf(input)}`,
  });
}

/** Like {@link customSchema}, but the error shows the wrong text. Do not use it for secrets. */
export function customText<Value>(what: string, isRight: (value: unknown) => boolean): z.ZodType<Value> {
  return z.custom<Value>(isRight, {
    error: ({ input }) => `expected ${what}, received ${typeof input === "string" ? quoted(input) : kindOf(input)}`,
  });
}

/** An object that is not a class instance. Inherited fields of an instance would be ignored. */
export const plainObject: z.ZodType<object> = customSchema("a plain object", isPlain);

export function objectWithMethods<Value>(...names: readonly (keyof Value & string)[]): z.ZodType<Value> {
  return objectLike(`an object with ${names.join(", ")}`, ...names);
}

/** Like {@link objectWithMethods}, but the error says that `what` was expected. */
export function objectLike<Value>(what: string, ...names: readonly (keyof Value & string)[]): z.ZodType<Value> {
  const isRight = (value: unknown) =>
    Object(value) === value && names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
  return customSchema(what, isRight);
}

/** Accepts any function, because its parameters and result cannot be checked in advance. */
export function functionSchema<Value>(): z.ZodType<Value> {
  return customSchema("a function", (value) => typeof value === "function");
}

/** Accepts numbers from `least`. `Infinity` means no limit. */
export function numberFrom(least: number): z.ZodType<number> {
  return customSchema(`a number from ${least} on`, (value) => typeof value === "number" && value >= least);
}

/** Accepts integers from `least`. `Infinity` means no limit. */
export function integerFrom(least: number): z.ZodType<number> {
  const isWhole = (value: unknown) => Number.isInteger(value) || value === Infinity;
  return customSchema(`a whole number from ${least} on`, (value) => isWhole(value) && Number(value) >= least);
}

export const nonEmptyString: z.ZodType<string> = z.string().min(1);

export const abortSignalSchema: z.ZodType<AbortSignal> = objectWithMethods("throwIfAborted", "addEventListener");

export const clockSchema: z.ZodType<Clock> = objectWithMethods("now", "monotonic", "after");

export const sha256Schema: z.ZodType<Sha256> = objectWithMethods("base64url", "hex");

/** Accepts a schema of any installed copy of zod. */
export const zodSchema: z.ZodType<z.ZodType> = customSchema(
  "a Zod schema",
  (value) => typeof (value as z.ZodType | undefined)?.safeParseAsync === "function",
);

/** Describes the kind of a value for error messages, such as "array", "a Map" or "an instance of Settings". */
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

/** Returns whether an object is not a class instance. Works for objects of other realms, such as an iframe. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.hasOwn(prototype as object, "isPrototypeOf");
}

export function withArticle(noun: string): string {
  return `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
}
