import type { ShownValue } from "../../inspect/view/viewParts.ts";

/** Returns the value of a view, or the problem in its place. */
export function plainValue(shown: ShownValue): unknown {
  return "value" in shown ? shown.value : { $unreadable: shown.unreadable.code };
}

/** Returns whether a value consists of JSON values with at most `levels` levels. Fields may be `undefined`. */
export function isJson(value: unknown, levels: number): boolean {
  let open: ReadonlySet<unknown> = new Set([value]);
  for (let level = 0; open.size > 0; level++) {
    if (level > levels) return false;
    const items = [...open];
    if (!items.every((item) => jsonTypes.has(typeof item))) return false;
    open = new Set(items.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : [])));
  }
  return true;
}

const jsonTypes: ReadonlySet<string> = new Set(["string", "number", "boolean", "undefined", "object"]);
