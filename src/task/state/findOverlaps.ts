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

const plannedSchema = z.array(z.object({ reserves: reservationsSchema.optional() }));

/**
 * Finds the planned tasks that need the same files, in the order of the tasks. It reserves nothing.
 *
 * @throws InvalidInputError
 */
export function findOverlaps<Planned extends { readonly reserves?: readonly FileReservation[] | undefined }>(
  tasks: readonly Planned[],
): readonly FileOverlap<Planned>[] {
  checkSchema(plannedSchema, tasks, "planned tasks");
  return tasks.flatMap((first, index) =>
    tasks
      .slice(index + 1)
      .flatMap((second) => sharedPaths(first, second).map((path) => ({ path, tasks: [first, second] as const }))),
  );
}

function sharedPaths(
  { reserves: some = [] }: { readonly reserves?: readonly FileReservation[] | undefined },
  { reserves: others = [] }: { readonly reserves?: readonly FileReservation[] | undefined },
): readonly string[] {
  const shared = some.filter((one) => others.some((other) => excludes(one, other))).map(({ path }) => path);
  return [...new Set(shared)];
}

/** Whether two reservations cannot be held at the same time. The spelling of a path, such as `./a` for `a`, does not matter. */
export function excludes(one: FileReservation, other: FileReservation): boolean {
  return (one.operation === "write" || other.operation === "write") && spelled(one.path) === spelled(other.path);
}

/** One spelling for each path. */
function spelled(path: string): string {
  return normalize(`${path}/`);
}
