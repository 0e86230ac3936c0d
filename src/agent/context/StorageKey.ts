import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema, zodSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";

/** The name and type of a value in the storage of a run. */
export interface StorageKey<in out Value> {
  readonly name: string;
  readonly schema: z.core.$ZodType<Value>;
}

const keySchema = z.object({ name: nonEmptyString, schema: zodSchema });
const named = keySchema.partial({ schema: true });
const usedKeySchema = customSchema("what storageKey(name, schema) returned", (key) => named.safeParse(key).success);

/**
 * Defines a storage key. The schema validates a value when it is set, and a restored value when it is first read.
 *
 * @example
 * ```ts
 * const visits = storageKey("visits", z.number());
 * context.storage.set(visits, (context.storage.get(visits) ?? 0) + 1);
 * ```
 * @throws InvalidInputError
 */
export function storageKey<Value>(name: string, schema: z.core.$ZodType<Value>): StorageKey<Value> {
  checkSchema(keySchema, { name, schema }, "storage key");
  return Object.freeze({ name, schema });
}

/** Checks only the name of a key, because a deletion needs no schema. @throws InvalidInputError */
export function checkedKey<Key>(key: Key): Key {
  checkSchema(usedKeySchema, key, "storage key");
  return key;
}
