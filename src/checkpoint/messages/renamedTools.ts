import { renamed } from "../values/renamed.ts";

type Names = Readonly<Record<string, string>>;

/** Renames the tools in the calls and results of a message. Returns other values unchanged. */
export function renamedTools<Value>(value: Value, renames: readonly Names[]): Value {
  const { role, content } = Object(value) as { readonly role?: unknown; readonly content?: unknown };
  if (typeof role !== "string" || !Array.isArray(content)) return value;
  const parts = content.map((part: unknown) => renamedPart(part, renames));
  return parts.every((part, at) => part === content[at])
    ? value
    : (Object.freeze({ ...value, content: parts }) as Value);
}

function renamedPart(part: unknown, renames: readonly Names[]): unknown {
  const { toolName } = Object(part) as { readonly toolName?: unknown };
  if (typeof toolName !== "string") return part;
  const now = renamed(toolName, renames);
  return now === toolName ? part : Object.freeze({ ...(part as object), toolName: now });
}
