const longest = 160;

/** A value as an error shows it: short, whatever its size, and whatever it is. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "absent";
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  const text = textOf(value);
  return text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`;
}

function textOf(value: unknown): string {
  if (value instanceof Error) return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object") return jsonOf(value) ?? `a ${typeof value}`;
  const type = Object.prototype.toString.call(value).slice(8, -1);
  const text = jsonOf(value);
  const isPlain = value === null || type === "Object" || type === "Array";
  return isPlain && text !== undefined ? text : `${type} ${text ?? "that is not JSON"}`;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch {
    return undefined;
  }
}
