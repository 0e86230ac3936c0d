import type { ShownValue } from "../../inspect/view/ShownValue.ts";

/** Returns the value of a view, or the problem in its place. */
export function plainValue(shown: ShownValue): unknown {
  return "value" in shown ? shown.value : { $unreadable: shown.unreadable.code };
}
