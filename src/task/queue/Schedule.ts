import { Cron } from "croner";
import { z } from "zod";
import { count, listOf, object, oneOf, optional, text, time } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { customText, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { ShapeDefinition, ShapeState } from "../../journal/shape/ShapeDefinition.ts";
import { type NewTask, queueName } from "../state/Task.ts";

/** The behavior at a tick while the task of the previous tick is unfinished. */
export type ScheduleOverlap = "skip" | "queue" | "cancel";

/** Which of several due ticks start a task, for example after all workers were stopped. */
export type ScheduleCatchUp = "latest" | "all" | "none";

/** The argument of `TaskManager.schedule`. */
export interface NewSchedule extends Pick<
  NewTask,
  "taskName" | "inputRequest" | "priority" | "queue" | "key" | "retries" | "retryDelayMs"
> {
  /** The id of the schedule. A task's id consists of this id and the time of the tick. */
  readonly scheduleId: string;
  /** A cron expression of five fields, of six fields with seconds first, or a nickname such as `@daily`. */
  readonly cron: string;
  /** The IANA time zone of the expression. Defaults to `"UTC"`. */
  readonly timezone?: string | undefined;
  /**
   * What a tick does while the task of the previous tick is unfinished. `"skip"` drops the tick. `"queue"` starts the
   * new task when the unfinished task has ended. `"cancel"` cancels the unfinished task first. Defaults to `"skip"`.
   */
  readonly overlap?: ScheduleOverlap | undefined;
  /**
   * What happens if several ticks are due. `"latest"` starts the newest, and `"all"` starts each. `"none"` starts the
   * newest, but only if it is less than a minute late. All other due ticks are missed. Defaults to `"latest"`.
   */
  readonly catchUp?: ScheduleCatchUp | undefined;
}

/** A tick without a task. */
export interface MissedTick {
  /** ISO 8601. */
  readonly at: string;
  /**
   * `late`: a newer tick was due as well, or the tick was too late. `overlap`: another task of the schedule was
   * unfinished. `refused`: the task of the tick cannot be created, for example because its input is too large for the
   * worker.
   */
  readonly reason: "late" | "overlap" | "refused";
}

/** A stored schedule. Times are in ISO 8601. */
export interface Schedule {
  readonly scheduleId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly overlap: ScheduleOverlap;
  readonly catchUp: ScheduleCatchUp;
  readonly taskName: string;
  readonly inputRequest: unknown;
  readonly paused: boolean;
  /** The next tick. `undefined` if the expression has no further tick. */
  readonly nextAt: string | undefined;
  /** The last tick that started a task. */
  readonly lastAt: string | undefined;
  /** The id of the last task. */
  readonly lastTaskId: string | undefined;
  /** The number of missed ticks. */
  readonly missedCount: number;
  /** The newest missed ticks, at most 20, oldest first. */
  readonly missed: readonly MissedTick[];
  /** The ticks that wait until the previous task has ended. */
  readonly waiting: readonly string[];
}

/** Computes times only, because a `Cron` without a function starts no timer. */
export function cronOf(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone });
}

function isCron(value: unknown): boolean {
  return typeof value === "string" && hasTicks(value, "UTC");
}

function isTimezone(value: unknown): boolean {
  // With an empty text, Croner would use the time zone of the process.
  return typeof value === "string" && value !== "" && hasTicks("* * * * *", value);
}

function hasTicks(expression: string, timezone: string): boolean {
  try {
    const cron = cronOf(expression, timezone);
    // Croner also accepts a date, which matches only once.
    return cron.getOnce() === null && cron.nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

export const scheduleId: z.ZodType<string> = z.string().min(1).max(200);

export const newScheduleSchema: z.ZodType<NewSchedule> = strictOptions(() => ({
  scheduleId,
  cron: customText<string>('a cron expression such as "0 3 * * *"', isCron),
  timezone: customText<string>('an IANA time zone such as "Europe/Paris"', isTimezone).optional(),
  overlap: z.enum(["skip", "queue", "cancel"]).optional(),
  catchUp: z.enum(["latest", "all", "none"]).optional(),
  taskName: nonEmptyString,
  inputRequest: z.unknown(),
  priority: z.int().optional(),
  queue: queueName.optional(),
  key: queueName.optional(),
  retries: z.int().nonnegative().optional(),
  retryDelayMs: z.number().nonnegative().optional(),
}));

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
  /** The next tick, computed from the previous tick, so that no change of the clock loses or repeats a tick. */
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

/** The shape of a schedule's log. The summary of the log is due at the next tick. */
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

/** Returns when the schedule is due: at once if a killed owner may not have created the task of the last tick. */
function dueAt({ starting, last, waiting = [], next }: Partial<ScheduleRecord> = {}): number | undefined {
  return starting ? last : (waiting[0] ?? next);
}

/** The most due ticks that one plan contains. */
const plannedAtOnce = 1_000;
/** The longest delay of a tick with `catchUp: "none"`, in milliseconds. A later tick is missed. */
const latestMs = 60_000;
/** The most missed ticks that a schedule shows. */
const shownMissed = 20;

/** The due ticks of a schedule. */
interface TickPlan {
  /** The ticks that start a task. */
  readonly runs: readonly number[];
  readonly missed: readonly number[];
  /** The first tick that is not planned. */
  readonly next: number | undefined;
}

/** Decides about the ticks that are due, oldest first. */
export function planTicks({ cron, timezone, catchUp, next: first }: ScheduleRecord, now: number): TickPlan {
  const expression = cronOf(cron, timezone);
  const due: number[] = [];
  let next = first;
  while (next !== undefined && next <= now && due.length < plannedAtOnce) {
    due.push(next);
    next = expression.nextRun(new Date(next))?.getTime();
  }
  if (catchUp === "all") return { runs: due, missed: [], next };
  const newest = due.at(-1);
  const isLast = next === undefined || next > now;
  const isRun = newest !== undefined && isLast && (catchUp === "latest" || now - newest < latestMs);
  return isRun ? { runs: [newest], missed: due.slice(0, -1), next } : { runs: [], missed: due, next };
}

/** Returns the fields of a schedule after ticks were missed. */
export function withMissed(
  { missedCount, missed }: Pick<ScheduleRecord, "missedCount" | "missed">,
  ticks: readonly number[],
  reason: MissedTick["reason"],
): Pick<ScheduleRecord, "missedCount" | "missed"> {
  const added = ticks.map((tick): MissedTick => ({ at: new Date(tick).toISOString(), reason }));
  return { missedCount: missedCount + ticks.length, missed: [...missed, ...added].slice(-shownMissed) };
}
