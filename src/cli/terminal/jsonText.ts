import { visibleJson } from "./visibleText.ts";

/** Returns the JSON of a value for programs. docs/command-line.md documents values that JSON lacks. */
export function jsonText(value: unknown, indent?: number): string {
  return visibleJson(JSON.stringify(value, replaced, indent) ?? "null");
}

function replaced(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  // JSON.stringify() has already converted dates to text.
  const found = (this as Readonly<Record<string, unknown>>)[key];
  if (typeof found !== "object" || found === null) return value;
  if (found instanceof Map) return [...found];
  if (found instanceof Set) return [...found];
  if (found instanceof Uint8Array) return Buffer.from(found).toString("base64");
  if (found instanceof Error) return { name: found.name, ...codeOf(found), message: found.message };
  if (found instanceof RegExp) return String(found);
  return value;
}

function codeOf(error: Error): { readonly code?: string } {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? { code } : {};
}
