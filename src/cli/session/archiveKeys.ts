import { CommandFailure } from "../terminal/CommandFailure.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";
import type { EncryptionOptions, KeySource } from "../../encryption.ts";
import { keySourceSchema } from "../../storage/KeySource.ts";
import { loadExport } from "./loadExport.ts";

export interface ArchiveKeyOptions {
  readonly archiveKeys?: string | undefined;
  readonly plain?: boolean | undefined;
}

/** Returns the keys of `--archive-keys`, from all options of `encrypted()` too. Defaults to the storage's keys. */
export async function archiveKeys(
  io: CommandIo,
  { archiveKeys: given }: ArchiveKeyOptions,
): Promise<KeySource | undefined> {
  if (given === undefined) return undefined;
  const { value } = await loadExport(given, io);
  const { keys = value } = Object(value) as Partial<EncryptionOptions>;
  const { success, data } = keySourceSchema.safeParse(keys);
  if (success) return data;
  throw new CommandFailure(
    "usage",
    `The export ${given} of --archive-keys is no source of keys. Export { current, get }, or a function that returns it.`,
  );
}

/** Returns the keys that encrypt a new archive. `false` with `--plain`. */
export async function newArchiveKeys(
  io: CommandIo,
  options: ArchiveKeyOptions,
): Promise<KeySource | false | undefined> {
  if (!options.plain) return archiveKeys(io, options);
  if (options.archiveKeys === undefined) return false;
  throw new CommandFailure("usage", "Pass --plain or --archive-keys, not both.");
}
