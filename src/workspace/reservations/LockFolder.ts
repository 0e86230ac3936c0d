import { z } from "zod";
import { StorageError } from "../../errors/storageErrors.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import type { Disk, DiskFile } from "../../nodejs/Disk.ts";
import type { ProcessFacts } from "../../nodejs/ProcessIdentity.ts";
import type { LockEntry, LockState } from "./LockState.ts";
import { join } from "node:path";

const noBytes = Buffer.from("{}");

export interface Generation {
  /** 0 if the path was never reserved. */
  readonly number: number;
  readonly state: LockState;
}

/**
 * The lock files. Each change of a path creates a new file with the next generation, and the file with the highest
 * generation contains the current state. If two processes create the same generation, only one `link` succeeds, and the
 * next read shows which process was first. The highest generation is never removed, because otherwise a process that
 * slept after listing the directory could create this number again from an outdated state. Paths are distributed over
 * many directories by hash, so that directory listings stay short.
 */
export class LockFolder {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #made = new Map<string, Promise<unknown>>();

  /** @param path the directory, created by the first write */
  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Returns the state of a path. Checks the generation twice, because a slow process may create a lower one. */
  async read(path: string): Promise<Generation> {
    for (let number = await this.#highest(path); ;) {
      const bytes = number === 0 ? noBytes : await this.#disk.readFile(this.#file(path, number));
      const highest = await this.#highest(path);
      if (highest === number && bytes !== undefined) return { number, state: decodeLock(path, bytes.toString()) };
      number = highest;
    }
  }

  /**
   * Writes the next generation, unless another process was first. The next read returns the generation that was first.
   */
  async write({ number }: Generation, next: LockState): Promise<void> {
    const name = this.#file(next.path, number + 1);
    const temporary = `${name}.${crypto.randomUUID()}.tmp`;
    const file = await this.#create(next.path, temporary);
    try {
      // The name need not be durable, because reservations do not outlive a reboot. The content must be durable before
      // the name, because an empty file looks damaged.
      await file?.store(Buffer.from(encodeLock(next)));
      if ((await this.#disk.link(temporary, name)) === "unsupported")
        throw new StorageError("io", "link", name, { advice: "Choose a directory on a file system with hard links." });
    } catch (error) {
      // Another process created this generation and removed the temporary file.
      if ((await this.#disk.stat(temporary)) !== undefined) throw error;
    } finally {
      await file?.close();
      await this.#disk.unlink(temporary);
    }
  }

  /** Removes all generations of a path except the highest, and temporary files of killed processes. */
  async clean(path: string): Promise<void> {
    const names = await this.#names(path);
    const highest = highestOf(names);
    for (const name of names) if (numberOf(name) < highest) await this.#disk.unlink(join(this.#folder(path), name));
  }

  async #highest(path: string): Promise<number> {
    return highestOf(await this.#names(path));
  }

  async #names(path: string): Promise<readonly string[]> {
    const prefix = `${nodeSha256.hex(path)}.`;
    return ((await this.#disk.readdir(this.#folder(path))) ?? []).filter((name) => name.startsWith(prefix));
  }

  #folder(path: string): string {
    return join(this.#path, nodeSha256.hex(path).slice(0, 3));
  }

  #file(path: string, number: number): string {
    return join(this.#folder(path), `${nodeSha256.hex(path)}.${number}.lock`);
  }

  async #create(path: string, temporary: string): Promise<DiskFile | undefined> {
    await this.#make(path);
    return this.#disk.create(temporary).catch(async () => {
      // Another program may have removed the directory.
      this.#made.delete(this.#folder(path));
      await this.#make(path);
      return this.#disk.create(temporary);
    });
  }

  #make(path: string): Promise<unknown> {
    const folder = this.#folder(path);
    const failed = (error: unknown) => {
      this.#made.delete(folder);
      throw error;
    };
    const made = this.#made.get(folder) ?? this.#disk.mkdirs(folder).catch(failed);
    this.#made.set(folder, made);
    return made;
  }
}

function highestOf(names: readonly string[]): number {
  return Math.max(0, ...names.filter((name) => name.endsWith(".lock")).map(numberOf));
}

/** Returns the generation in the name of a lock file or its temporary file, or 0 for other names. */
function numberOf(name: string): number {
  return Number(/^[0-9a-f]{64}\.([1-9][0-9]{0,14})\.lock/.exec(name)?.[1] ?? 0);
}

/** The expiry of an unreadable lock, equal to the default. */
const unreadableTtlMs = 300_000;
/** The maximum expiry of entries that other tools wrote: one hour. */
const longestTtlMs = 3_600_000;

/** The keys in a lock file, in the order of writing. */
const entryKeys = {
  owner: "owner",
  operation: "operation",
  since: "acquired_at",
  expiresAt: "expires_at",
  id: "id",
  ttlMs: "ttl_ms",
  deadlineMs: "deadline_ms",
  process: "process",
} satisfies Record<keyof LockEntry, string>;
const processKeys = {
  host: "host",
  bootId: "boot_id",
  pidNamespace: "pid_namespace",
  timeNamespace: "time_namespace",
  processId: "process_id",
  processStart: "process_start",
} satisfies Record<keyof ProcessFacts, string>;

const processSchema = z.object({
  host: z.string(),
  bootId: z.string(),
  pidNamespace: z.string(),
  timeNamespace: z.string().exactOptional(),
  processId: z.number(),
  processStart: z.string(),
});
const entrySchema = z.object({
  id: z.string().default(""),
  owner: z.string(),
  operation: z.enum(["read", "write"]),
  since: z.string(),
  expiresAt: z.string(),
  ttlMs: z.number().optional(),
  deadlineMs: z.number().exactOptional(),
  process: storedWith(processKeys).pipe(processSchema).exactOptional(),
});
const storedEntrySchema = storedWith(entryKeys).pipe(entrySchema).transform(withTtl);
const listsSchema = z.object({
  also_held_by: z.array(storedEntrySchema).default([]),
  waiting: z.array(storedEntrySchema).default([]),
});

const unreadable: LockEntry = {
  id: "",
  owner: "unknown: the lock file cannot be read",
  operation: "write",
  since: "",
  expiresAt: "",
  ttlMs: unreadableTtlMs,
};

/** Encodes a lock file. The facts of the first holder are at the top level, where other tools expect them. */
function encodeLock({ path, holders, waiting }: LockState): string {
  const [first, ...others] = holders.map(encodeEntry);
  return `${JSON.stringify({ path, ...first, also_held_by: others, waiting: waiting.map(encodeEntry) })}\n`;
}

/** Decodes a lock file. The path of an unreadable file counts as reserved until the default expiry. */
function decodeLock(path: string, text: string): LockState {
  try {
    const value: unknown = JSON.parse(text);
    const { also_held_by, waiting } = listsSchema.parse(value);
    const isFree = typeof value === "object" && value !== null && !("owner" in value);
    return { path, holders: isFree ? [] : [storedEntrySchema.parse(value), ...also_held_by], waiting };
  } catch {
    return { path, holders: [unreadable], waiting: [] };
  }
}

function encodeEntry({ process, ...entry }: LockEntry): object {
  return toStored(entryKeys, { ...entry, process: process && toStored(processKeys, process) });
}

/** Keys without a value become `undefined`, which JSON omits. */
function toStored(keys: Readonly<Record<string, string>>, value: object): object {
  const values = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(keys).map(([name, key]) => [key, values[name]]));
}

function storedWith<Keys extends Readonly<Record<string, string>>>(keys: Keys) {
  return z.looseObject({}).transform((stored) => {
    const present = Object.entries(keys).filter(([, key]) => key in stored);
    return Object.fromEntries(present.map(([name, key]) => [name, stored[key]]));
  });
}

function withTtl(entry: z.output<typeof entrySchema>): LockEntry {
  const ttlMs = entry.ttlMs ?? Date.parse(entry.expiresAt) - Date.parse(entry.since);
  return { ...entry, ttlMs: Number.isFinite(ttlMs) ? Math.min(Math.max(ttlMs, 0), longestTtlMs) : unreadableTtlMs };
}
