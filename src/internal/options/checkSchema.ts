import { z } from "zod";
import { InvalidInputError, type InputProblem } from "../../errors/agentErrors.ts";
import { plainObject } from "./optionSchemas.ts";

/**
 * Returns the parsed value, or the value itself without a schema. `subject` is its name in errors.
 *
 * @throws InvalidInputError
 */
export function checkSchema(schema: z.core.$ZodType | undefined, value: unknown, subject: string): unknown {
  if (!schema) return value;
  const result = z.safeParse(schema, value);
  if (!result.success) throw new InvalidInputError(subject, problemsOf(result.error));
  return result.data;
}

/** @throws InvalidInputError if the context of a node or tool is missing */
export function assertContext(context: unknown, subject: string): void {
  if (typeof Object(context).feature === "function") return;
  throw new InvalidInputError(subject, [{ path: "context", expected: "expected the context of a node or tool" }]);
}

export async function checkSchemaAsync(
  schema: z.core.$ZodType | undefined,
  value: unknown,
  subject: string,
): Promise<unknown> {
  if (!schema) return value;
  const result = await z.safeParseAsync(schema, value);
  if (!result.success) throw new InvalidInputError(subject, problemsOf(result.error));
  return result.data;
}

export function problemsOf(error: z.core.$ZodError): readonly InputProblem[] {
  return error.issues.map(({ path, message }) => ({
    path: path.map(String).join("."),
    expected: message
      .replace(/^Invalid input: /, "")
      .replace("nonoptional, received undefined", "a value")
      .replace("date, received Date", "a valid Date"),
  }));
}

/**
 * Returns a schema for options that rejects unknown keys and suggests the most similar option. The shape is created at
 * the first check, because most programs check few options.
 */
export function strictOptions<Shape extends z.ZodRawShape>(
  shape: () => Shape,
): z.ZodType<z.output<z.ZodObject<Shape, z.core.$strict>>> {
  return z.lazy(() => strictObject(shape()));
}

function strictObject<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape, z.core.$strict>>> {
  const names = Object.keys(shape);
  const options = z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? issue.keys.map((key) => unknownOption(key, names)).join(", ") : undefined,
  });
  return plainObject.pipe(options as z.ZodType<z.output<typeof options>, object>);
}

function unknownOption(key: string, names: readonly string[]): string {
  const nearest = nearestName(key, names);
  if (nearest !== undefined) return `unknown option "${key}"; did you mean "${nearest}"?`;
  return `unknown option "${key}"; the options are ${names.join(", ") || "none"}`;
}

/** Returns the most similar name, unless more than a third of its characters differ. */
function nearestName(wrong: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.ceil(wrong.length / 3));
  const ranked = names
    .map((name) => ({ name, edits: editDistance(wrong.toLowerCase(), name.toLowerCase()) }))
    .toSorted((one, other) => one.edits - other.edits);
  const [nearest] = ranked;
  return nearest && nearest.edits <= most ? nearest.name : undefined;
}

function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, character] of Array.from(one).entries()) {
    const next = [index + 1];
    for (const [column, against] of Array.from(other).entries()) {
      const substituted = (row[column] ?? 0) + (character === against ? 0 : 1);
      next.push(Math.min(substituted, (next[column] ?? 0) + 1, (row[column + 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
