import type { ShownValue } from "../../inspect.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortValue.ts";

export function shown(value: ShownValue | undefined, most?: number): Part {
  if (value === undefined) return "–";
  if ("unreadable" in value) return painted("red", `unreadable: ${value.unreadable.message}`);
  return shortValue(value.value, most);
}
