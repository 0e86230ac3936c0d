import { cronOf, type MissedTick } from "./Schedule.ts";
import type { ScheduleRecord } from "./scheduleShape.ts";

/** The most due ticks that one plan contains. */
const plannedAtOnce = 1_000;
/** With `catchUp: "none"`, a tick that is later than this is missed, in milliseconds. */
const latestMs = 60_000;
/** The most missed ticks that a schedule shows. */
const shownMissed = 20;

/** The due ticks of a schedule. */
export interface TickPlan {
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

/** Returns the fields of a schedule after it missed ticks. */
export function withMissed(
  { missedCount, missed }: Pick<ScheduleRecord, "missedCount" | "missed">,
  ticks: readonly number[],
  reason: MissedTick["reason"],
): Pick<ScheduleRecord, "missedCount" | "missed"> {
  const added = ticks.map((tick): MissedTick => ({ at: new Date(tick).toISOString(), reason }));
  return { missedCount: missedCount + ticks.length, missed: [...missed, ...added].slice(-shownMissed) };
}
