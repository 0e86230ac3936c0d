import { z } from "zod";
import type { FileReservation } from "../../checkpoint/status/TaskStatus.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { canonicalPath } from "../../nodejs/canonicalPath.ts";
import { reservationsSchema } from "./Task.ts";

/** Two tasks that cannot run at the same time, because one writes a file that the other reads or writes. */
export interface FileOverlap<Planned> {
  readonly path: string;
  readonly tasks: readonly [Planned, Planned];
}

const planned = z.object({ reserves: reservationsSchema.optional() });
const plannedSchema = z.array(planned.extend({ data: planned.optional() }));
const optionsSchema = strictOptions(() => ({ root: nonEmptyString.optional() }));

/** A task with reservations: a new or queued task. Tasks with other statuses reserve no files. */
interface PlannedTask {
  readonly reserves?: readonly FileReservation[] | undefined;
  readonly data?: object | undefined;
}

/**
 * Finds the planned tasks that need the same files, in the order of the tasks. Reserves no files.
 *
 * @param options.root the base directory of relative paths. Defaults to the working directory of the process.
 * @throws InvalidInputError
 */
export function findOverlaps<Planned extends PlannedTask>(
  tasks: readonly Planned[],
  options: { readonly root?: string | undefined } = {},
): readonly FileOverlap<Planned>[] {
  checkSchema(plannedSchema, tasks, "planned tasks");
  checkSchema(optionsSchema, options, "options of findOverlaps");
  const { root = "." } = options;
  const needed = tasks.map((task) => ({
    task,
    files: reservesOf(task).map((file) => canonicalReservation(file, root)),
  }));
  return needed.flatMap((first, index) =>
    needed
      .slice(index + 1)
      .flatMap((second) =>
        sharedPaths(first.files, second.files).map((path) => ({ path, tasks: [first.task, second.task] as const })),
      ),
  );
}

function sharedPaths(
  some: readonly CanonicalReservation[],
  others: readonly CanonicalReservation[],
): readonly string[] {
  const shared = some.filter((one) => others.some((other) => excludes(one, other))).map(({ path }) => path);
  return [...new Set(shared)];
}

function reservesOf({ reserves, data }: PlannedTask): readonly FileReservation[] {
  return reserves ?? (data as PlannedTask | undefined)?.reserves ?? [];
}

/** A reservation with the canonical spelling of its path. */
export interface CanonicalReservation extends FileReservation {
  readonly file: string;
}

export function canonicalReservation({ path, operation }: FileReservation, root: string): CanonicalReservation {
  return { path, operation, file: canonicalPath(path, root) };
}

export function excludes(one: CanonicalReservation, other: CanonicalReservation): boolean {
  return (one.operation === "write" || other.operation === "write") && one.file === other.file;
}
