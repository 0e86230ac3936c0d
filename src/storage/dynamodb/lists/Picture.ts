import { count, fraction, like, object, optional, text } from "../../../checkpoint/format/fieldTests.ts";
import type { TableSummary } from "../../table/LogTable.ts";
import type { Attributes, Content, PartsOwner } from "../items/DynamoDBConnection.ts";

/** A summary that DynamoDB stores. `slot` and `generation` name its append, and `content` holds its text. */
export interface Picture {
  readonly slot: number;
  readonly generation: number;
  readonly status: string;
  readonly order: string;
  readonly dueAt?: number | undefined;
  readonly updatedAt: number;
  readonly content: Content;
}

export type ListMark = Picture | Removal;

/** The deletion of an agent. A claim in `slot` restarts the log. */
export interface Removal {
  readonly slot: number;
  readonly generation: number;
  /** The position before the new start of the log. */
  readonly start: number;
}

/**
 * The stored summaries of an agent. `next` is stored before its append and replaces `current` after the append. If the
 * process crashes in between, the log shows whether the append was stored.
 */
export interface Pictures {
  readonly generation: number;
  /** Grows with each write of an owner: twice the slot of `next`, and one more when `next` has become `current`. */
  readonly step: number;
  readonly current?: Picture | undefined;
  readonly next?: ListMark | undefined;
}

export function isRemoval(mark: ListMark): mark is Removal {
  return "start" in mark;
}

export function pictureOf(
  { status, order, dueAt, updatedAt }: TableSummary,
  slot: number,
  generation: number,
  content: Content,
): Picture {
  return { slot, generation, status, order, dueAt, updatedAt, content };
}

/** Returns the key under which the parts of a long summary are stored. */
export function pictureParts(agentId: string, { generation, slot }: Picture): PartsOwner {
  return { agentId, generation, id: `summary ${slot}` };
}

export function picturesItem({ generation, step, current, next }: Pictures): Attributes {
  return { gen: generation, step, current: current && markItem(current), next: next && markItem(next) };
}

const place = { slot: count, generation: count };
const isRemovalMark = like({ ...place, start: count });
const isPicture = like({
  ...place,
  status: text,
  order: text,
  dueAt: optional(fraction),
  updatedAt: fraction,
  content: object,
});
const isPictures = like({
  generation: count,
  step: count,
  current: optional(isPicture),
  next: optional((mark) => isRemovalMark(mark) || isPicture(mark)),
});

/** Returns `undefined` for a damaged item. */
export function picturesOf({ gen, step, current, next }: Attributes): Pictures | undefined {
  const pictures = { generation: Number(gen), step: Number(step), current: markOf(current), next: markOf(next) };
  return isPictures(pictures) ? (pictures as Pictures) : undefined;
}

export function isSameStep(one: Pictures | undefined, other: Pictures | undefined): boolean {
  return one?.step === other?.step && one?.generation === other?.generation;
}

function markItem(mark: ListMark): Attributes {
  if (isRemoval(mark)) return { ...mark };
  const { content, ...rest } = mark;
  return { ...rest, ...content };
}

function markOf(stored: Attributes[string]): ListMark | undefined {
  if (stored === undefined) return undefined;
  const { bytes, parts, ...rest } = Object(stored) as Attributes;
  const mark = rest as unknown as ListMark;
  if (isRemoval(mark)) return mark;
  return { ...mark, content: { ...(bytes && { bytes: bytes as Uint8Array }), ...(parts && { parts: Number(parts) }) } };
}
