/** The maximum length of a value on one line. */
const oneLine = 72;
/** The maximum indentation depth. Deeper nesting would produce millions of spaces. */
const deepestIndent = 24;

/** Formats a JSON value for people: text unchanged, short lists and objects on one line, others indented. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : print(value, 0);
}

function print(value: unknown, level: number): string {
  if (typeof value !== "object" || value === null) return scalarText(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const parts = isList
    ? value.map((item) => print(item, level + 1))
    : Object.entries(value).map(([key, item]) => `${keyText(key)}: ${print(item, level + 1)}`);
  if (parts.length === 0) return open + close;
  const length = parts.reduce((sum, part) => sum + part.length + 2, level * 2);
  if (length <= oneLine && parts.every((part) => !part.includes("\n"))) {
    return isList ? `[${parts.join(", ")}]` : `{ ${parts.join(", ")} }`;
  }
  const indent = "  ".repeat(Math.min(level, deepestIndent));
  return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
}

function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

function scalarText(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
