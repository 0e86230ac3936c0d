import type { AgentInputItem, SessionHistoryMutation } from "@openai/agents-core";
import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { SessionRecord, SpliceRecord } from "./sessionRecords.ts";
import type { SessionState } from "./SessionState.ts";

export type SessionChange =
  | { readonly type: "add"; readonly items: readonly AgentInputItem[] }
  | { readonly type: "suffix"; readonly drop: number; readonly items: readonly AgentInputItem[] }
  | { readonly type: "replace"; readonly items: readonly AgentInputItem[] }
  | { readonly type: "pop" }
  | { readonly type: "clear" };

type Encode = (item: AgentInputItem) => StoredValue;

/** Returns the records of a change. The list is empty if the change has no effect. */
export function recordsOf(state: SessionState, change: SessionChange, encode: Encode): SessionRecord[] {
  const { length } = state.items;
  switch (change.type) {
    case "add":
      return splice(length, 0, change.items.map(encode));
    case "suffix":
      return splice(length - change.drop, change.drop, change.items.map(encode));
    case "replace":
      return splice(0, length, change.items.map(encode));
    case "pop":
      return length === 0 ? [] : splice(length - 1, 1, []);
    case "clear":
      return [{ kind: "clear", next: state.next }];
  }
}

/**
 * Returns the records for a change of the history in which new function calls replace old ones. The replacement takes the position of the first call with its id,
 * and further calls with that id are removed.
 *
 * @param items the items of the session in order
 */
export function mutationRecords(
  items: readonly AgentInputItem[],
  mutations: readonly SessionHistoryMutation[],
  encode: Encode,
): SessionRecord[] {
  const records: SessionRecord[] = [];
  const current = [...items];
  for (const { callId, replacement } of mutations) {
    const isCall = (item: AgentInputItem) => item.type === "function_call" && item.callId === callId;
    const first = current.findIndex(isCall);
    if (first < 0) continue;
    for (let at = current.length - 1; at > first; at--) {
      if (!isCall(current[at] as AgentInputItem)) continue;
      records.push(...splice(at, 1, []));
      current.splice(at, 1);
    }
    records.push(...splice(first, 1, [encode(replacement)]));
    current[first] = replacement;
  }
  return records;
}

function splice(at: number, drop: number, items: readonly StoredValue[]): SpliceRecord[] {
  if (drop === 0 && items.length === 0) return [];
  return [{ kind: "splice", at, ...(drop > 0 && { drop }), ...(items.length > 0 && { items }) }];
}
