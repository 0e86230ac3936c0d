import { addNewest } from "../../internal/deleteOldest.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { ScheduleFailure } from "../queue/Schedules.ts";
import type { TaskManager } from "../queue/TaskManager.ts";

/** The number of reports that a worker remembers, which is limited so that a worker can run for years. */
export const mostReported = 100_000;

/** How often a worker looks for due schedules, in milliseconds. */
const tickEveryMs = 100;

/** Starts the tasks of due schedules. Looks rarely, because each released task wakes the worker. */
export class ScheduleTicker {
  readonly #tasks: Pick<TaskManager, "clock" | "schedules">;
  readonly #reported = new Set<string>();
  #tickedAt = -Infinity;

  constructor(tasks: Pick<TaskManager, "clock" | "schedules">) {
    this.#tasks = tasks;
  }

  /** Ticks the schedules. Returns only failures that were not returned before. */
  async tick(): Promise<readonly ScheduleFailure[]> {
    const { clock, schedules } = this.#tasks;
    const now = clock.now();
    if (Math.abs(now - this.#tickedAt) < tickEveryMs) return [];
    this.#tickedAt = now;
    const failures = await schedules.tick();
    return failures.filter(({ scheduleId, error }) =>
      addNewest(this.#reported, `${scheduleId} ${reasonOf(error)}`, mostReported),
    );
  }
}
