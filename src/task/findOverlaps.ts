import { z } from "zod";
import type { FileReservation } from "../checkpoint/status/FileReservation.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";

/** Two tasks that cannot run at the same time, since one writes a file that the other reads or writes. */
export interface FileOverlap<Planned> {
  readonly path: string;
  readonly tasks: readonly [Planned, Planned];
}

const plannedSchema = z.array(
  z.object({
    reserves: z.array(z.object({ path: z.string(), operation: z.enum(["read", "write"]) })).optional(),
  }),
);

/**
 * Which of some planned tasks touch the same files. Decides and reserves nothing; in the order of the tasks.
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

/** Whether two reservations cannot stand side by side. */
export function excludes(one: FileReservation, other: FileReservation): boolean {
  return one.path === other.path && (one.operation === "write" || other.operation === "write");
}
