const longest = 160;

/** A value as an error shows it: short, whatever its size. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "absent";
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  const text = textOf(value);
  return text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`;
}

function textOf(value: unknown): string {
  if (value instanceof Error) return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  const type = Object.prototype.toString.call(value).slice(8, -1);
  const text = JSON.stringify(value);
  return type === "Object" || type === "Array" ? text : `${type} ${text}`;
}
