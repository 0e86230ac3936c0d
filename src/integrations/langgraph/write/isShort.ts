import type { Json } from "../values/Json.ts";

const longestText = 48;

/** Returns whether a value takes no more space than a reference to it. */
export function isShort(json: Json): boolean {
  if (typeof json === "string") return json.length <= longestText;
  if (typeof json !== "object" || json === null) return true;
  return Array.isArray(json) ? json.length === 0 : Object.keys(json).length === 0;
}
