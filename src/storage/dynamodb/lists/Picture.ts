import type { TableSummary } from "../../table/LogTable.ts";
import type { Attributes } from "../items/attributes.ts";
import type { Content, PartsOwner } from "../items/itemParts.ts";

/** What an append said of its agent, without the text. */
export interface Picture {
  /** The slot of the append. */
  readonly slot: number;
  readonly generation: number;
  readonly status: string;
  readonly order: string;
  readonly dueAt?: number | undefined;
  readonly updatedAt: number;
  /** The text of the summary. */
  readonly content: Content;
}

/** An append or a drop that is about to be made. */
export type Mark = Picture | Removal;

/** The drop of an agent, which stores a claim that says that the log starts there. */
export interface Removal {
  readonly slot: number;
  readonly generation: number;
  /** What the log then starts behind. */
  readonly start: number;
}

/**
 * What lists show of an agent. It is marked with what is about to be appended, and settled when that is stored. After a
 * crash between, the log says whether it was.
 */
export interface Pictures {
  /** Who wrote it last. */
  readonly generation: number;
  /** Grows with each write of one owner: twice the slot, and one more when it is settled. */
  readonly step: number;
  readonly current?: Picture | undefined;
  readonly next?: Mark | undefined;
}

export function isRemoval(mark: Mark): mark is Removal {
  return "start" in mark;
}

/** The picture that an append gives. */
export function pictureOf(
  { status, order, dueAt, updatedAt }: TableSummary,
  slot: number,
  generation: number,
  content: Content,
): Picture {
  return { slot, generation, status, order, dueAt, updatedAt, content };
}

/** What the text of a picture is stored under, if it takes parts. */
export function pictureParts(agentId: string, { generation, slot }: Picture): PartsOwner {
  return { agentId, generation, id: `summary ${slot}` };
}

/** Pictures as attributes of an item. */
export function picturesItem({ generation, step, current, next }: Pictures): Attributes {
  return { gen: generation, step, current: current && markItem(current), next: next && markItem(next) };
}

/** The inverse of {@link picturesItem}. */
export function picturesOf({ gen, step, current, next }: Attributes): Pictures {
  return {
    generation: Number(gen),
    step: Number(step),
    current: current === undefined ? undefined : (markOf(current as Attributes) as Picture),
    next: next === undefined ? undefined : markOf(next as Attributes),
  };
}

function markItem(mark: Mark): Attributes {
  if (isRemoval(mark)) return { ...mark };
  const { content, ...rest } = mark;
  return { ...rest, ...content };
}

function markOf({ bytes, parts, ...rest }: Attributes): Mark {
  const mark = rest as unknown as Mark;
  if (isRemoval(mark)) return mark;
  return { ...mark, content: { ...(bytes && { bytes: bytes as Uint8Array }), ...(parts && { parts: Number(parts) }) } };
}
