import { z } from "zod";
import type { LockEntry, LockState } from "./LockState.ts";

/** How long what nobody can read holds a file: the default expiry. */
const unreadableTtlMs = 300_000;
/** An expiry that another tool wrote is believed up to an hour. */
const longestTtlMs = 3_600_000;

const entrySchema = z.object({
  id: z.string().default(""),
  owner: z.string(),
  operation: z.enum(["read", "write"]),
  acquired_at: z.string(),
  expires_at: z.string(),
  ttl_ms: z.number().optional(),
  deadline_ms: z.number().optional(),
  process: z
    .object({
      host: z.string(),
      boot_id: z.string(),
      pid_namespace: z.string(),
      process_id: z.number(),
      process_start: z.string(),
    })
    .optional(),
});
const listsSchema = z.object({
  also_held_by: z.array(entrySchema).default([]),
  waiting: z.array(entrySchema).default([]),
});

/**
 * A lock file: the first holder's `owner`, `operation`, `acquired_at` and `expires_at` stand at the top, where other
 * tools look for them; a free file has none.
 */
export function encodeLock({ path, holders, waiting }: LockState): string {
  const [first, ...others] = holders.map(encodeEntry);
  return `${JSON.stringify({ path, ...first, also_held_by: others, waiting: waiting.map(encodeEntry) })}\n`;
}

/** What cannot be read counts as held for writing, until it has been seen unchanged for the default expiry. */
export function decodeLock(path: string, text: string): LockState {
  try {
    const value: unknown = JSON.parse(text);
    const { also_held_by, waiting } = listsSchema.parse(value);
    const isFree = typeof value === "object" && value !== null && !("owner" in value);
    const holders = isFree ? [] : [entrySchema.parse(value), ...also_held_by];
    return { path, holders: holders.map(decodeEntry), waiting: waiting.map(decodeEntry) };
  } catch {
    return { path, holders: [unreadable], waiting: [] };
  }
}

const unreadable: LockEntry = {
  id: "",
  owner: "unknown: the lock file cannot be read",
  operation: "write",
  since: "",
  expiresAt: "",
  ttlMs: unreadableTtlMs,
};

function encodeEntry({ id, owner, operation, since, expiresAt, ttlMs, deadlineMs, process }: LockEntry): object {
  return {
    owner,
    operation,
    acquired_at: since,
    expires_at: expiresAt,
    id,
    ttl_ms: ttlMs,
    deadline_ms: deadlineMs,
    process: process && {
      host: process.host,
      boot_id: process.bootId,
      pid_namespace: process.pidNamespace,
      process_id: process.processId,
      process_start: process.processStart,
    },
  };
}

function decodeEntry(entry: z.output<typeof entrySchema>): LockEntry {
  const { id, owner, operation, acquired_at: since, expires_at: expiresAt, deadline_ms: deadlineMs } = entry;
  const ttlMs = entry.ttl_ms ?? Date.parse(expiresAt) - Date.parse(since);
  const process = entry.process && {
    host: entry.process.host,
    bootId: entry.process.boot_id,
    pidNamespace: entry.process.pid_namespace,
    processId: entry.process.process_id,
    processStart: entry.process.process_start,
  };
  return {
    id,
    owner,
    operation,
    since,
    expiresAt,
    ttlMs: Number.isFinite(ttlMs) ? Math.min(Math.max(ttlMs, 0), longestTtlMs) : unreadableTtlMs,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(process === undefined ? {} : { process }),
  };
}
