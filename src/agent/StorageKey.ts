import type { z } from "zod";

/** The name and type of one value in the storage of a run. */
export interface StorageKey<in out Value> {
  readonly name: string;
  readonly schema: z.ZodType<Value>;
}

/** Defines a storage key. The schema is checked when a value is set, and again when a restored one is first read. */
export function storageKey<Value>(name: string, schema: z.ZodType<Value>): StorageKey<Value> {
  return Object.freeze({ name, schema });
}
