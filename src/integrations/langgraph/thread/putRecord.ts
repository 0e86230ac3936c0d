import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import type { PutFields, StoredPut } from "./Checkpoints.ts";
import { fieldsChange } from "./fieldsChange.ts";
import type { PutRecord, ValueRecord } from "./GraphRecord.ts";
import type { GraphValue } from "./GraphValue.ts";
import { valueChange } from "./valueChange.ts";

export interface PutDraft extends PutFields {
  readonly namespace: string;
  readonly id: string;
  readonly values: ReadonlyMap<string, GraphValue>;
}

/**
 * Builds the record of a checkpoint.
 *
 * @param parent the put to store the difference to, or `undefined` to store the whole checkpoint
 * @param last the previous put of the namespace
 */
export function putRecord(draft: PutDraft, parent: StoredPut | undefined, last: StoredPut | undefined): PutRecord {
  const { namespace, id, parentId, ts, version, more } = draft;
  const set = [...draft.values].flatMap(([channel, value]) => changeOf(channel, parent?.values.get(channel), value));
  const unset = [...(parent?.values.keys() ?? [])].filter((channel) => !draft.values.has(channel));
  return {
    kind: "put",
    id,
    ...(namespace !== "" && { ns: namespace }),
    ...(parent !== last && { from: parent?.number ?? null }),
    ...(parentId !== undefined && parentId !== parent?.entry.id && { parent: parentId }),
    ts,
    ...(version !== 4 && { v: version }),
    ...fieldsOfPut(draft, parent),
    ...filled("more", more),
    ...filled("set", new Map(set)),
    ...(unset.length > 0 && { unset }),
  };
}

function filled(name: string, fields: ReadonlyMap<string, unknown>): object {
  return fields.size > 0 ? { [name]: Object.fromEntries(fields) } : {};
}

function fieldsOfPut(draft: PutDraft, parent: StoredPut | undefined): Pick<PutRecord, "meta" | "versions" | "seen"> {
  return withoutUndefined({
    meta: fieldsChange(parent?.meta, draft.meta),
    versions: fieldsChange(parent?.versions, draft.versions),
    seen: fieldsChange(parent?.seen, draft.seen),
  });
}

function changeOf(
  channel: string,
  before: GraphValue | undefined,
  after: GraphValue,
): readonly (readonly [string, ValueRecord])[] {
  return before === after ? [] : [[channel, valueChange(before, after)]];
}
