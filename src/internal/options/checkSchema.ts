import { z } from "zod";
import { InvalidInputError, type InputProblem } from "../../errors/agentErrors.ts";

/**
 * Returns the parsed value, or the value if the schema is `undefined`.
 *
 * @param subject A description of the value for the error.
 * @throws InvalidInputError if the schema rejects the value.
 */
export function checkSchema(schema: z.core.$ZodType | undefined, value: unknown, subject: string): unknown {
  if (!schema) return value;
  const result = z.safeParse(schema, value);
  if (!result.success) throw new InvalidInputError(subject, problemsOf(result.error));
  return result.data;
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
    expected: message.replace(/^Invalid input: /, "").replace("nonoptional, received undefined", "a value"),
  }));
}
