import { z } from "zod";

/** The path of keys to a redacted value. `*` matches any key. */
export type RedactedPath = readonly string[];

/** The path of a value: all keys, and the keys without list indexes. */
export interface ValuePlace {
  readonly whole: readonly string[];
  readonly named: readonly string[];
}

/** Parses a dotted path such as `signUp.input.email`, where `\.` is a dot in a key. `undefined` if invalid. */
export function redactedPath(text: string): RedactedPath | undefined {
  const keys = text.split(/(?<!\\)\./).map((key) => key.replaceAll("\\.", "."));
  const isPath = keys.every((key) => key !== "") && keys.some((key) => key !== "*");
  return isPath ? keys : undefined;
}

export function pathText(path: RedactedPath): string {
  return path.map((key) => key.replaceAll(".", "\\.")).join(".");
}

/** Returns whether the path of a value ends with a redacted path, with or without list indexes. */
export function isAt({ whole, named }: ValuePlace, path: RedactedPath): boolean {
  return endsWith(whole, path) || endsWith(named, path);
}

/** Returns the tool of an object that represents a call, such as a message part. `undefined` if none. */
export function toolOf(value: object): string | undefined {
  const { toolName, tool } = value as { readonly toolName?: unknown; readonly tool?: unknown };
  const name = toolName ?? tool;
  return typeof name === "string" ? name : undefined;
}

/** Returns whether a list item is an entry of a map or of headers. */
export function isPair(item: unknown): item is readonly [key: string, value: unknown] {
  return Array.isArray(item) && item.length === 2 && typeof item[0] === "string";
}

function endsWith(place: readonly string[], path: RedactedPath): boolean {
  const from = place.length - path.length;
  return from >= 0 && path.every((segment, index) => segment === "*" || segment === place[from + index]);
}

export const redactedPathSchema: z.ZodType<string> = z.string().refine((text) => redactedPath(text) !== undefined, {
  error: 'expected keys with dots between them, such as "signUp.input.email"',
});
