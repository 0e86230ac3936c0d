import type { z } from "zod";
import { InvalidInputError } from "../../errors/agent/InvalidInputError.ts";
import { problemsOf } from "./problemsOf.ts";

/**
 * What the schema makes of a value; without a schema, the value itself.
 *
 * @throws InvalidInputError when the schema refuses it. `subject` says what the value is for.
 */
export function checkSchema(schema: z.ZodType | undefined, value: unknown, subject: string): unknown {
  if (!schema) return value;
  const result = schema.safeParse(value);
  if (!result.success) throw new InvalidInputError(subject, problemsOf(result.error));
  return result.data;
}

/** {@link checkSchema} for schemas with asynchronous checks. */
export async function checkSchemaAsync(
  schema: z.ZodType | undefined,
  value: unknown,
  subject: string,
): Promise<unknown> {
  if (!schema) return value;
  const result = await schema.safeParseAsync(value);
  if (!result.success) throw new InvalidInputError(subject, problemsOf(result.error));
  return result.data;
}
