import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { concatenated, utf8 } from "../../../internal/bytes.ts";

/** The primary key of an item. Sort keys are compared by bytes. */
export interface ItemKey {
  readonly pk: string;
  readonly sk: Uint8Array;
}

export interface KeyRange {
  readonly pk: string;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** The maximum size of a sort key, in bytes. */
const maxKeyBytes = 1024;
const hashBytes = 43;
const [headKind, summaryKind, slotKind, partKind, blobKind, stagedKind] = [1, 2, 16, 32, 48, 64];
/** The kinds of items in a list of due times. */
const [dueMarkKind, dueKind] = [1, 2];

function partitionOf(agentId: string): string {
  return `agent ${agentId}`;
}

export function listPartition(status: string | undefined): string {
  return status === undefined ? "list" : `list ${status}`;
}

function duePartition(status: string): string {
  return `due ${status}`;
}

export function headKey(agentId: string): ItemKey {
  return { pk: partitionOf(agentId), sk: Uint8Array.of(headKind) };
}

export function summaryKey(agentId: string): ItemKey {
  return { pk: partitionOf(agentId), sk: Uint8Array.of(summaryKind) };
}

export function slotKey(agentId: string, slot: number): ItemKey {
  return { pk: partitionOf(agentId), sk: keyOf(slotKind, numberBytes(slot)) };
}

export function slotOf(sk: Uint8Array): number {
  return numberAt(sk, 1);
}

/** Returns the range of the slots from `first` to `last`, inclusive. Without `last`, the range has no end. */
export function slotRange(agentId: string, first: number, last?: number): KeyRange {
  return rangeOf(agentId, slotKind, numberBytes(first), last === undefined ? behindAll : numberBytes(last));
}

export function partKey(agentId: string, generation: number, id: string, index: number): ItemKey {
  const bytes = keyOf(partKind, numberBytes(generation), utf8(id), Uint8Array.of(0), numberBytes(index));
  return { pk: partitionOf(agentId), sk: bytes };
}

export function partRange(agentId: string, generation: number, id: string): KeyRange {
  const name = [numberBytes(generation), utf8(id)];
  return rangeOf(
    agentId,
    partKind,
    concatenated([...name, Uint8Array.of(0)]),
    concatenated([...name, Uint8Array.of(1)]),
  );
}

export function partsUpTo(agentId: string, generation: number): KeyRange {
  return rangeOf(agentId, partKind, numberBytes(0), concatenated([numberBytes(generation), behindAll]));
}

export function blobKey(agentId: string, reference: string): ItemKey {
  return { pk: partitionOf(agentId), sk: keyOf(blobKind, utf8(reference)) };
}

export function blobRange(agentId: string): KeyRange {
  return rangeOf(agentId, blobKind, new Uint8Array(), behindAll);
}

export function stagedKey(agentId: string, generation: number, position: number): ItemKey {
  return { pk: partitionOf(agentId), sk: keyOf(stagedKind, numberBytes(generation), numberBytes(position)) };
}

export function stagedPosition(sk: Uint8Array): number {
  return numberAt(sk, 9);
}

export function stagedRange(agentId: string, generation: number, first: number, last: number): KeyRange {
  const bytes = numberBytes(generation);
  return rangeOf(
    agentId,
    stagedKind,
    concatenated([bytes, numberBytes(first)]),
    concatenated([bytes, numberBytes(last)]),
  );
}

export function stagedUpTo(agentId: string, generation: number): KeyRange {
  return rangeOf(agentId, stagedKind, numberBytes(0), concatenated([numberBytes(generation), behindAll]));
}

/** Returns the sort key of an agent in a list: its `order`, then its id. Long keys end with a hash. */
export function placeKey(order: string, agentId: string, sha256: Sha256): Uint8Array {
  const whole = placeBytes(order, agentId);
  return whole.length < maxKeyBytes ? whole : concatenated([sortedPart(whole), utf8(sha256.base64url(whole))]);
}

interface DuePlace {
  readonly status: string;
  readonly order: string;
  readonly dueAt: number;
  readonly agentId: string;
}

export function dueEntryKey({ status, order, dueAt, agentId }: DuePlace, sha256: Sha256): ItemKey {
  const name = utf8(sha256.base64url(placeBytes(order, agentId)));
  return { pk: duePartition(status), sk: keyOf(dueKind, numberBytes(Math.floor(dueAt)), name) };
}

/** Returns the key of the item that marks a list of due times as complete. This key sorts before all agents. */
export function dueMarkKey(status: string): ItemKey {
  return { pk: duePartition(status), sk: Uint8Array.of(dueMarkKind) };
}

export function isDueMark({ sk }: ItemKey): boolean {
  return sk[0] === dueMarkKind;
}

/** Returns the range of the mark (see {@link dueMarkKey}) and of all agents that are due. */
export function dueRange(status: string, dueBefore: number): KeyRange {
  const to = keyOf(dueKind, numberBytes(Math.floor(dueBefore)), behindAll);
  return { pk: duePartition(status), from: Uint8Array.of(dueMarkKind), to };
}

/** Returns the prefix of a key that is never hashed and therefore sorts correctly. */
export function sortedPart(place: Uint8Array): Uint8Array {
  return place.subarray(0, maxKeyBytes - 1 - hashBytes);
}

/** Encodes `order` and id as bytes that sort like them, separated by 0. All other bytes are raised by one. */
export function placeBytes(order: string, agentId: string | undefined): Uint8Array {
  const raised = (text: string) => utf8(text).map((byte) => byte + 1);
  // Without an id, the key sorts after all agents with this order.
  return concatenated([raised(order), Uint8Array.of(0), agentId === undefined ? behindAll : raised(agentId)]);
}

export function compareBytes(one: Uint8Array, other: Uint8Array): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

const behindAll = new Uint8Array(9).fill(0xff);

function rangeOf(agentId: string, kind: number, from: Uint8Array, to: Uint8Array): KeyRange {
  return { pk: partitionOf(agentId), from: keyOf(kind, from), to: keyOf(kind, to) };
}

function keyOf(kind: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return concatenated([Uint8Array.of(kind), ...parts]);
}

function numberBytes(number: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.max(0, Math.min(number, Number.MAX_SAFE_INTEGER))));
  return bytes;
}

function numberAt(bytes: Uint8Array, at: number): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at));
}
