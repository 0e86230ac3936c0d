import { count, listOf, object, oneOf, optional, text, time } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { ShapeDefinition, ShapeState } from "../../journal/shape/ShapeDefinition.ts";
import type { MissedTick, NewSchedule, ScheduleCatchUp, ScheduleOverlap } from "./Schedule.ts";

/** The whole state of a schedule. Times are milliseconds since 1970. */
export interface ScheduleRecord extends LogRecord {
  readonly kind: "schedule";
  readonly cron: string;
  readonly timezone: string;
  readonly overlap: ScheduleOverlap;
  readonly catchUp: ScheduleCatchUp;
  /** The options of its tasks. */
  readonly task: Omit<NewSchedule, "scheduleId" | "cron" | "timezone" | "overlap" | "catchUp" | "inputRequest">;
  readonly input: StoredValue;
  readonly paused?: true;
  /** Follows from the tick before it, never from the clock, so a changed clock neither loses nor repeats a tick. */
  readonly next?: number;
  readonly last?: number;
  readonly lastTaskId?: string;
  /** True while an owner creates the last task. */
  readonly starting?: true;
  readonly missedCount: number;
  readonly missed: readonly MissedTick[];
  readonly waiting: readonly number[];
}

export class ScheduleState implements ShapeState<ScheduleRecord> {
  current: ScheduleRecord | undefined;

  add(record: ScheduleRecord): void {
    this.current = record;
  }

  restate(): Iterable<ScheduleRecord> {
    return this.current ? [this.current] : [];
  }
}

/** The log of a schedule. Its summary is due at the next tick. */
export const scheduleShape: ShapeDefinition<ScheduleRecord, ScheduleState> = {
  name: "schedule",
  version: 1,
  records: {
    schedule: {
      cron: text,
      timezone: text,
      overlap: oneOf("skip", "queue", "cancel"),
      catchUp: oneOf("latest", "all", "none"),
      task: object,
      paused: optional((value) => value === true),
      next: optional(time),
      last: optional(time),
      lastTaskId: optional(text),
      starting: optional((value) => value === true),
      missedCount: count,
      missed: listOf(object),
      waiting: listOf(time),
    },
  },
  values: ({ input }) => [input],
  begin: () => new ScheduleState(),
  dueAt: ({ current }) => (current?.paused ? undefined : dueAt(current)),
};

/** The last tick if a killed owner may not have created its task. */
function dueAt({ starting, last, waiting = [], next }: Partial<ScheduleRecord> = {}): number | undefined {
  return starting ? last : (waiting[0] ?? next);
}
