import { shownValue } from "../../inspect/log/shownValue.ts";
import { plainValue } from "../trace/plainValue.ts";

/** Returns a value of a replayed run as views of a log show it. */
export function viewedValue(value: unknown): unknown {
  return plainValue(shownValue(value, Infinity));
}
