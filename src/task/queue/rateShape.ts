import { count, time } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { ShapeDefinition, ShapeState } from "../../journal/shape/ShapeDefinition.ts";

/** A task of a queue with a rate limit started. */
export interface StartRecord extends LogRecord {
  readonly kind: "start";
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The period of the rate limit. */
  readonly perMs: number;
}

/** The starts of the last period. */
export class RateState implements ShapeState<StartRecord> {
  #starts: readonly StartRecord[] = [];

  add(record: StartRecord): void {
    const isRecent = ({ at }: StartRecord) => Math.abs(record.at - at) < record.perMs;
    this.#starts = [...this.#starts.filter(isRecent), record];
  }

  restate(): Iterable<StartRecord> {
    return this.#starts;
  }

  /** Returns the time in milliseconds until a task may start. */
  waitMs({ max, perMs }: { readonly max: number; readonly perMs: number }, now: number): number {
    const recent = this.#starts.map(({ at }) => at).filter((at) => Math.abs(now - at) < perMs);
    if (recent.length < max) return 0;
    // A start in the future is from before the clock was set back.
    const [frees = 0] = recent.toSorted((a, b) => a - b).slice(recent.length - max);
    return Math.max(1, frees + perMs - now);
  }
}

/** The log with the starts of a queue. */
export const rateShape: ShapeDefinition<StartRecord, RateState> = {
  name: "rate",
  version: 1,
  records: { start: { at: time, perMs: count } },
  values: () => [],
  begin: () => new RateState(),
};
