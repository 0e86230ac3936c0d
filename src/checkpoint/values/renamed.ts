type Names = Readonly<Record<string, string>>;

export function renamed(name: string, renames: readonly Names[]): string {
  return renames.reduce((now, names) => (Object.hasOwn(names, now) ? (names[now] ?? now) : now), name);
}

/** Applies renames to a path, one after another. Each rename replaces the longest matching start of the path. */
export function renamedPath(path: string, renames: readonly Names[]): string {
  return renames.reduce(renamedOnce, path);
}

function renamedOnce(path: string, names: Names): string {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
    const around = path.slice(0, end);
    if (Object.hasOwn(names, around)) return `${names[around]}${path.slice(end)}`;
  }
  return path;
}

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
