import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { zodSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";

/** The name and type of one value in the storage of a run. */
export interface StorageKey<in out Value> {
  readonly name: string;
  readonly schema: z.ZodType<Value>;
}

const keySchema = z.object({ name: nonEmptyString, schema: zodSchema });

/**
 * Defines a storage key. The schema is checked when a value is set, and again when a restored one is first read.
 *
 * @throws InvalidInputError
 */
export function storageKey<Value>(name: string, schema: z.ZodType<Value>): StorageKey<Value> {
  checkSchema(keySchema, { name, schema }, "storage key");
  return Object.freeze({ name, schema });
}
