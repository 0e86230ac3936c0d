import type { z } from "zod";
import { customSchema } from "../internal/options/optionSchemas.ts";
import { type KeySource, keySourceSchema } from "../storage/KeySource.ts";
import type { LogStorage } from "../storage/LogStorage.ts";
import type { ArchiveKeys } from "./format/decryptedArchive.ts";

export const writingKeysSchema: z.ZodType<KeySource | false> = customSchema<KeySource | false>(
  "`false`, or an object with `current`, the id of a key, and the function `get`",
  (value) => value === false || keySourceSchema.safeParse(value).success,
);

/** Returns the keys that encrypt an archive. `undefined` for a plain archive. */
export function writingKeys({ log }: LogStorage, given: KeySource | false | undefined): KeySource | undefined {
  if (given === false) return undefined;
  return given ?? log.capabilities.archiveKeys;
}

/** Returns the keys that decrypt an archive. Only given keys refuse a plain archive. */
export function readingKeys({ log }: LogStorage, given: KeySource | undefined): ArchiveKeys | undefined {
  const source = given ?? log.capabilities.archiveKeys;
  return source && { source, isRequired: given !== undefined };
}
