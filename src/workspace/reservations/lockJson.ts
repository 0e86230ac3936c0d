import { z } from "zod";
import type { LockEntry, LockState, ProcessClaim } from "./LockState.ts";

/** How long an unreadable lock holds a file: the default expiry. */
const unreadableTtlMs = 300_000;
/** An expiry that another tool wrote counts for at most an hour. */
const longestTtlMs = 3_600_000;

/** The keys in a lock file, in the order in which they are written. */
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
  processId: "process_id",
  processStart: "process_start",
} satisfies Record<keyof ProcessClaim, string>;

const processSchema = z.object({
  host: z.string(),
  bootId: z.string(),
  pidNamespace: z.string(),
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

/**
 * The text of a lock file. The `owner`, `operation`, `acquired_at` and `expires_at` of the first holder are at the top
 * level, where other tools look for them; a free file has none.
 */
export function encodeLock({ path, holders, waiting }: LockState): string {
  const [first, ...others] = holders.map(encodeEntry);
  return `${JSON.stringify({ path, ...first, also_held_by: others, waiting: waiting.map(encodeEntry) })}\n`;
}

/** The state in a lock file. An unreadable file counts as held for writing until it was seen unchanged for the default expiry. */
export function decodeLock(path: string, text: string): LockState {
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

/** Keys without a value become `undefined`, which JSON leaves out. */
function toStored(keys: Readonly<Record<string, string>>, value: object): object {
  const values = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(keys).map(([name, key]) => [key, values[name]]));
}

/** Reads an object by its keys in the file. */
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
