import {
  type Checkpoint,
  type CheckpointMetadata,
  type PendingWrite,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { encodeGraphValue } from "../values/encodeGraphValue.ts";
import type { Json } from "../values/Json.ts";
import type { CapturedValue, ValueCapture } from "./CapturedValue.ts";

export interface CapturedCheckpoint {
  readonly id: string;
  readonly ts: string;
  readonly version: number;
  readonly source: unknown;
  /** Complete once the capture has settled. */
  readonly meta: ReadonlyMap<string, CapturedField>;
  readonly versions: ReadonlyMap<string, Json>;
  readonly seen: ReadonlyMap<string, Json>;
  readonly more: ReadonlyMap<string, Json>;
  readonly changed: ReadonlyMap<string, CapturedValue>;
  /** Channels that keep the value of the parent. */
  readonly carried: readonly string[];
}

/** A field in its stored form. It is complete when the capture has settled. */
export interface CapturedField {
  readonly json: Json;
}

const ownFields: ReadonlySet<string> = new Set([
  "v",
  "id",
  "ts",
  "channel_values",
  "channel_versions",
  "versions_seen",
]);

/**
 * @param newVersions the channels with a new value. If it is omitted, or the checkpoint is a copy, every value counts
 * as new. If a channel has no version, its value always counts as new, because changes cannot be detected.
 * @throws NotSerializableError
 */
export function captureCheckpoint(
  capture: ValueCapture,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata,
  newVersions: Readonly<Record<string, unknown>> | undefined,
): CapturedCheckpoint {
  const subject = `checkpoint "${checkpoint.id}"`;
  const isWhole = newVersions === undefined || metadata.source === "fork";
  const isNew = (channel: string): boolean =>
    isWhole || Object.hasOwn(newVersions, channel) || !Object.hasOwn(checkpoint.channel_versions, channel);
  const channels = Object.entries(checkpoint.channel_values);
  const changed = channels.filter(([channel, value]) => isNew(channel) && value !== undefined);
  const more = Object.entries(checkpoint).filter(([field]) => !ownFields.has(field));
  return {
    id: checkpoint.id,
    ts: checkpoint.ts,
    version: checkpoint.v,
    source: metadata.source,
    meta: new Map(
      Object.entries(metadata).map(([key, value]) => [key, capture.field(value, `metadata of ${subject}`)]),
    ),
    versions: encoded(checkpoint.channel_versions, subject),
    seen: encoded(checkpoint.versions_seen, subject),
    more: encoded(Object.fromEntries(more), subject),
    changed: new Map(
      changed.map(([channel, value]) => [channel, capture.value(value, `channel "${channel}" of ${subject}`)]),
    ),
    carried: channels.flatMap(([channel]) => (isNew(channel) ? [] : [channel])),
  };
}

export interface CapturedWrite {
  readonly channel: string;
  readonly index: number;
  readonly value: CapturedValue;
}

/** @throws NotSerializableError */
export function captureWrites(
  capture: ValueCapture,
  writes: readonly PendingWrite[],
  taskId: string,
): readonly CapturedWrite[] {
  return writes.map(([channel, value], at) => ({
    channel,
    index: Object.hasOwn(WRITES_IDX_MAP, channel) ? (WRITES_IDX_MAP[channel] ?? at) : at,
    value: capture.value(value, `write to "${channel}" of task "${taskId}"`),
  }));
}

function encoded(fields: object, subject: string): ReadonlyMap<string, Json> {
  return new Map(Object.entries(fields).map(([name, value]) => [name, encodeGraphValue(value, subject)]));
}
