import type { AgentSummary } from "../../RecordLog.ts";

/** What the name of an empty file in the index says of an agent. */
export interface Mark {
  /** Sorts as the text that it was made of: the agent's `order`, or when it falls due. */
  readonly key: string;
  /** The name of the agent's folder. */
  readonly folder: string;
  /** The append that set the status. */
  readonly position: number;
  /** The owner that appended it; 0 when the mark was made from what was stored. With the position, used once. */
  readonly generation: number;
}

/** The most digits of a key, so that every name fits where 255 bytes do. */
const keyDigits = 120;
/** The most digits of one character. */
const characterDigits = 8;
const markName = /^k((?:[0-9a-f]{2})*)\.([a-z0-9-]{1,65})\.(\d{1,15})\.(\d{1,15})$/;
const plainStatus = /^[a-z_]{1,40}$/;

/** The folder of the marks of agents that fall due. No status has this name. */
export const dueFolder = "+due";
/** The folder of the names of agents that were deleted. */
export const droppedFolder = "+dropped";

/** The digits of the UTF-8 of a text. A long text is cut behind a whole character. */
export function sortKey(text: string): string {
  let key = "";
  for (const character of text) {
    const digits = Buffer.from(character).toString("hex");
    if (key.length + digits.length > keyDigits) break;
    key += digits;
  }
  return key;
}

/** The text that a key was made of. Of one that may have been cut: a text in its place that no other agent has. */
export function textOfKey(key: string, agentId: string): string {
  const text = Buffer.from(key, "hex").toString();
  return key.length + characterDigits > keyDigits ? `${text}\0${agentId}` : text;
}

export function markNameOf({ key, folder, position, generation }: Mark): string {
  return `k${key}.${folder}.${position}.${generation}`;
}

/** `undefined` for what is no mark: nobody but this library puts files there, so it is passed over. */
export function parseMark(name: string): Mark | undefined {
  const [, key, folder, position, generation] = markName.exec(name) ?? [];
  if (key === undefined || folder === undefined) return undefined;
  return { key, folder, position: Number(position), generation: Number(generation) };
}

/** The mark of a summary under its status. */
export function statusMark(folder: string, { order, position }: AgentSummary, generation: number): Mark {
  return { key: sortKey(order), folder, position, generation };
}

/** The mark of a summary under the time at which it falls due; `undefined` when it does not. */
export function dueMark(folder: string, { dueAt, position }: AgentSummary, generation: number): Mark | undefined {
  return dueAt === undefined ? undefined : { key: dueKey(dueAt), folder, position, generation };
}

/** A time as a key: earlier ones come first. A text that is no time comes before all, where every list finds it. */
export function dueKey(time: string): string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? "" : sortKey(new Date(Math.max(0, ms)).toISOString().padStart(27, "+"));
}

/** The folder of a status: its own name where that is plain, else one that only stands for it. */
export function statusFolder(status: string): string {
  return plainStatus.test(status) ? status : `-${sortKey(status)}`;
}
