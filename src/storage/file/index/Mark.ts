import type { AgentSummary } from "../../RecordLog.ts";

export interface Mark {
  /** Sorts like the original text, which is the agent's `order` or due time. */
  readonly key: string;
  readonly folder: string;
  readonly position: number;
  /** The generation that appended the summary, or 0 for a rebuilt mark. Unique together with the position. */
  readonly generation: number;
}

/** The maximum number of hex digits of a key, so that file names fit into 255 bytes. */
const keyDigits = 120;
const characterDigits = 8;
const markName = /^k((?:[0-9a-f]{2})*)\.([a-z0-9-]{1,65})\.(\d{1,15})\.(\d{1,15})$/;
const plainStatus = /^[a-z_]{1,40}$/;

/** The directory for the marks of due agents. It differs from the directory names of all statuses. */
export const dueFolder = "+due";
export const droppedFolder = "+dropped";

/** Returns the UTF-8 of a text in hex. A long text is truncated after a complete character. */
export function sortKey(text: string): string {
  let key = "";
  for (const character of text) {
    const digits = Buffer.from(character).toString("hex");
    if (key.length + digits.length > keyDigits) break;
    key += digits;
  }
  return key;
}

/** Returns the original text of a key. For a key that may be truncated, returns a unique text in its place. */
export function textOfKey(key: string, agentId: string): string {
  const text = Buffer.from(key, "hex").toString();
  return key.length + characterDigits > keyDigits ? `${text}\0${agentId}` : text;
}

export function markNameOf({ key, folder, position, generation }: Mark): string {
  return `k${key}.${folder}.${position}.${generation}`;
}

/** Parses a file name. Returns `undefined` for foreign files, which lists ignore. */
export function parseMark(name: string): Mark | undefined {
  const [, key, folder, position, generation] = markName.exec(name) ?? [];
  if (key === undefined || folder === undefined) return undefined;
  return { key, folder, position: Number(position), generation: Number(generation) };
}

export function statusMark(folder: string, { order, position }: AgentSummary, generation: number): Mark {
  return { key: sortKey(order), folder, position, generation };
}

export function dueMark(folder: string, { dueAt, position }: AgentSummary, generation: number): Mark | undefined {
  return dueAt === undefined ? undefined : { key: dueKey(dueAt), folder, position, generation };
}

/** Returns a key that sorts by time. An invalid time sorts first, so every list finds it. */
export function dueKey(time: string): string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? "" : sortKey(new Date(Math.max(0, ms)).toISOString().padStart(27, "+"));
}

/** Returns the directory name of a status. A status with special characters is encoded. */
export function statusFolder(status: string): string {
  return plainStatus.test(status) ? status : `-${sortKey(status)}`;
}
