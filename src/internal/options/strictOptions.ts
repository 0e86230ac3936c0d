import { z } from "zod";
import { nearestName } from "./nearestName.ts";

/**
 * The schema of an object of options. It refuses a key that it does not know, and names the option that was probably
 * meant, so that a misspelled option never counts as an absent one.
 */
export function strictOptions<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? unknownOptions(issue.keys, names) : undefined),
  });
}

function unknownOptions(unknown: readonly string[], names: readonly string[]): string {
  return unknown.map((key) => unknownOption(key, names)).join(", ");
}

function unknownOption(key: string, names: readonly string[]): string {
  const nearest = nearestName(key, names);
  if (nearest !== undefined) return `unknown option "${key}"; did you mean "${nearest}"`;
  return `unknown option "${key}"; the options are ${names.join(", ")}`;
}
