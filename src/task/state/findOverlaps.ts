import { normalize } from "node:path";
import { z } from "zod";
import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { reservationsSchema } from "./Task.ts";

/** Two tasks that cannot run at the same time, because one writes a file that the other reads or writes. */
export interface FileOverlap<Planned> {
  readonly path: string;
  readonly tasks: readonly [Planned, Planned];
}

const planned = z.object({ reserves: reservationsSchema.optional() });
const plannedSchema = z.array(planned.extend({ data: planned.optional() }));

/** What says which files it needs: a new task, or a queued task as `TaskManager.list` yields it. Other tasks reserve nothing. */
interface PlannedTask {
  readonly reserves?: readonly FileReservation[] | undefined;
  /** The data of a task. Default: none. */
  readonly data?: object | undefined;
}

/**
 * Finds the planned tasks that need the same files, in the order of the tasks. It reserves nothing.
 *
 * @throws InvalidInputError
 */
export function findOverlaps<Planned extends PlannedTask>(tasks: readonly Planned[]): readonly FileOverlap<Planned>[] {
  checkSchema(plannedSchema, tasks, "planned tasks");
  return tasks.flatMap((first, index) =>
    tasks
      .slice(index + 1)
      .flatMap((second) => sharedPaths(first, second).map((path) => ({ path, tasks: [first, second] as const }))),
  );
}

function sharedPaths(some: PlannedTask, others: PlannedTask): readonly string[] {
  const wanted = reservesOf(others);
  const shared = reservesOf(some)
    .filter((one) => wanted.some((other) => excludes(one, other)))
    .map(({ path }) => path);
  return [...new Set(shared)];
}

function reservesOf({ reserves, data }: PlannedTask): readonly FileReservation[] {
  return reserves ?? (data as PlannedTask | undefined)?.reserves ?? [];
}

/** Whether two reservations cannot be held at the same time. The spelling of a path, such as `./a` for `a`, does not matter. */
export function excludes(one: FileReservation, other: FileReservation): boolean {
  return (one.operation === "write" || other.operation === "write") && spelled(one.path) === spelled(other.path);
}

/** One spelling for each path. */
function spelled(path: string): string {
  return normalize(`${path}/`);
}
