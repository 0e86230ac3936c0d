import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { NumberRange } from "./sessionRecords.ts";

/** A stored item. Its number never changes. */
export interface SessionItem {
  readonly number: number;
  readonly value: StoredValue;
}

export function rangesOf(items: readonly Pick<SessionItem, "number">[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const { number } of items) {
    const open = ranges.at(-1);
    if (open && open[1] + 1 === number) open[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

export function numbersIn(given: readonly NumberRange[]): number[] {
  return given.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
